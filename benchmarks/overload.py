"""More submissions than land: what the whole service does at each rate, and after it, on localnet
or on the real validator that the environment names (docs/testing.md).

An open loop sends `--rates` a second for `--seconds` each (`OVERLOAD_SECONDS` in the environment).
Meanwhile /readyz, the front page's live strip, the follower's lag behind localnet and a WebSocket's
notifications are read each second. After each rate it waits until the service is normal and all
accepted submissions have a final fate. All seven rates take about 12 minutes where little waits.

A second is *false* if /readyz or the page says that the chain is followed though what the follower
announces has not moved for 8 s, or the contrary though it moved within the last 3 s.
"""

import argparse
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from os import PRIO_PROCESS, environ, setpriority
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import redis
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks.landing_service import (  # noqa: E402
    Landing,
    call,
    landing_service,
    processor_seconds,
    read,
    read_json,
    refusal,
    signature_of,
)
from benchmarks.machine import load  # noqa: E402
from benchmarks.open_load import send  # noqa: E402
from embedded.addresses import embedded_addresses  # noqa: E402
from priority.chain_events import HEAD  # noqa: E402
from tests.clients.service import Service  # noqa: E402

_NICE = -10  # of the thread that sends and reads, if that is allowed
RATES, SECONDS, CONNECTIONS = "50,100,200,300,500,1000,2000", 60, 256
LONGEST_AFTER = 60.0
_NORMAL_LAG = 2
_MOST_LAG = 10
# Clients hear of a standstill after 12 slots, and everything here is read once a second.
_MOVED_SECONDS, _STOOD_SECONDS = 3.0, 8.0
_WORD = re.compile(rb'<span class="word [a-z]*">([a-z ]+)</span>')
_COLUMNS = (
    "a second",
    "accepted",
    "refused",
    "p99",
    "served p99",
    "same or next slot",
    "latest",
    "final in 60 s",
    "lag, most",
    "lag > 10",
    "/readyz",
    "page",
    "false",
    "silent",
    "normal after",
    "cores used",
    "load",
)


@dataclass
class Look:
    """What was seen at one second."""

    ready: str  # its status, and the checks that failed
    page: str  # the word of the front page
    stood: float  # seconds since what the follower announces moved

    @property
    def is_false(self) -> bool:
        says_follows = (self.ready == "ok", self.page == "live")
        if self.stood >= _STOOD_SECONDS:
            return any(says_follows)
        return self.stood <= _MOVED_SECONDS and (
            "following" in self.ready or self.page in ("silent", "not connected")
        )


@dataclass
class Watch(threading.Thread):
    """Looks at the service each second, and keeps a blockhash that is not old."""

    landing: Landing
    blockhash: bytes = b""
    looks: list[Look] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)
    notified_at: list[float] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._service: Service = self.landing.service
        url = embedded_addresses(self._service.run_dir).redis_url
        self._redis = redis.Redis.from_url(url)
        self._head, self._moved_at, self._stood = 0, time.monotonic(), 0.0
        self._refresh()

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        for each in (self._listen, self._measure_lag):
            threading.Thread(target=each, daemon=True).start()
        while not self.is_over:
            at = time.monotonic()
            self.looks.append(self.look())
            time.sleep(max(0.0, at + 1 - time.monotonic()))

    def look(self) -> Look:
        stood = self._stood
        return Look(self._ready(), self._page(), stood)

    def _measure_lag(self) -> None:
        """In a thread of its own: pages take longer where all cores are busy."""
        while not self.is_over:
            at = time.monotonic()
            with suppress(Exception):
                self._refresh()
                self.lags.append(self.lag())
            time.sleep(max(0.0, at + 1 - time.monotonic()))

    def _refresh(self) -> None:
        self.blockhash = self.landing.latest_blockhash()

    def _ready(self) -> str:
        try:
            found = read_json(f"{self._service.base_url}/readyz", self._service.key)
        except HTTPError as error:
            found = json.load(error)
        except OSError as error:
            return type(error).__name__
        failed = [name for name, each in found["checks"].items() if not each["ok"]]
        return " ".join([found["status"], *failed])

    def _page(self) -> str:
        try:
            found = _WORD.search(read(f"{self._service.base_url}/front/live/", ""))
        except OSError as error:
            return type(error).__name__
        return "" if found is None else found[1].decode()

    def lag(self) -> int:
        """Slots that what the follower announced is behind the node."""
        newest = call(self.landing.rpc, "getSlot", {"commitment": "processed"})
        found: Any = self._redis.hget(HEAD, "slot")
        now = time.monotonic()
        if int(found) != self._head:
            self._head, self._moved_at = int(found), now
        # As of now: localnet may take long to answer the next time.
        self._stood = now - self._moved_at
        return max(0, int(newest) - self._head)

    def _listen(self) -> None:
        """A subscriber, which comes again where it is disconnected."""
        url = f"ws://{self._service.host}:{self._service.port}/"
        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "slotSubscribe"}
        while not self.is_over:
            with suppress(OSError, TimeoutError, ConnectionClosed):
                headers = {"Authorization": self._service.key}
                with connect(url, additional_headers=headers) as socket:
                    socket.send(json.dumps(subscribe))
                    while not self.is_over:
                        self._hear(json.loads(socket.recv(5)))
            time.sleep(0.5)

    def _hear(self, message: dict[str, Any]) -> None:
        self.notified_at.append(time.monotonic())
        if message.get("method") == "endNotification":
            self.ends.append(message["params"]["reason"])

    def longest_silence(self, since: float) -> float:
        times = [since, *(at for at in self.notified_at if at > since), time.monotonic()]
        return max(later - at for at, later in pairwise(times))


class Submissions:
    """Transactions made when they are due, with the newest blockhash."""

    def __init__(self, watch: Watch, count: int) -> None:
        self._payments = watch.landing.payments()
        self._watch, self._count = watch, count
        self._signatures: dict[int, str] = {}
        self.accepted: list[str] = []
        self.refused: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        wire = self._payments.wire(self._watch.blockhash, number)
        self._signatures[number] = signature_of(wire)
        return self._watch.landing.request(wire)

    def answered(self, number: int, answer: bytes) -> None:
        reason, name = refusal(answer), self._signatures.pop(number)
        if reason:
            self.refused[reason] += 1
        else:
            self.accepted.append(name)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rates", default=RATES)
    seconds = int(environ.get("OVERLOAD_SECONDS", SECONDS))
    options.add_argument("--seconds", type=int, default=seconds)
    chosen = options.parse_args()
    with landing_service() as landing:
        watch = Watch(landing)
        watch.start()
        # An answer that waits for the load to read it is not the service's fault.
        with suppress(PermissionError):
            setpriority(PRIO_PROCESS, threading.get_native_id(), _NICE)
        print(f"{chosen.seconds} s a rate\n\n| {' | '.join(_COLUMNS)} |")
        print(f"|{'---|' * len(_COLUMNS)}", flush=True)
        for rate in map(int, chosen.rates.split(",")):
            _measure(watch, rate, chosen.seconds)
        watch.is_over = True


def _measure(watch: Watch, rate: int, seconds: int) -> None:
    service = watch.landing.service
    submissions = Submissions(watch, rate * seconds)
    since, used = time.monotonic(), processor_seconds()
    for seen in (watch.looks, watch.lags, watch.ends):
        seen.clear()
    taken = send(
        (service.host, service.port),
        submissions,
        rate=rate,
        connections=CONNECTIONS,
        answered=submissions.answered,
        longest=60.0,
    )
    ended = time.monotonic()
    cores = {
        role: (now - used[role]) / (ended - since) for role, now in processor_seconds().items()
    }
    normal = _seconds_until_normal(watch)
    looks, lags = list(watch.looks), list(watch.lags)
    fates, final = _final_fates(service, submissions.accepted, ended)
    slots = Counter(
        fate["slot"] - fate["acceptedSlot"] for fate in fates if fate["slot"] is not None
    )
    soon = sum(count for passed, count in slots.items() if passed <= 1)
    words = [
        str(rate),
        f"{len(submissions.accepted):,}",
        ", ".join(f"{count:,} {why}" for why, count in submissions.refused.most_common()) or "none",
        f"{taken.p99 * 1e3:,.0f} ms",
        f"{taken.served * 1e3:,.0f} ms",
        f"{soon / max(1, len(fates)):.1%}",
        str(max(slots, default=0)),
        f"{final:,} of {len(fates):,}: {_counts(fate['state'] for fate in fates)}",
        str(max(lags, default=0)),
        f"{sum(lag > _MOST_LAG for lag in lags)} s",
        _counts(look.ready for look in looks),
        _counts(look.page for look in looks),
        f"{sum(look.is_false for look in looks)} s",
        f"{watch.longest_silence(since):.1f} s {' '.join(watch.ends)}".rstrip(),
        f"{normal:.1f} s",
        ", ".join(f"{role} {share:.2f}" for role, share in cores.items()),
        f"{load():.1f}",
    ]
    print(f"| {' | '.join(words)} |", flush=True)


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in Counter(words).most_common())


def _seconds_until_normal(watch: Watch) -> float:
    """Until /readyz is ok, the page says so, and the follower has caught up."""
    began = time.monotonic()
    while time.monotonic() - began < 4 * LONGEST_AFTER:
        with suppress(OSError, RuntimeError):
            look = watch.look()
            if look.ready == "ok" and look.page == "live" and watch.lag() <= _NORMAL_LAG:
                break
        time.sleep(0.25)
    return time.monotonic() - began


def _final_fates(
    service: Service, signatures: Sequence[str], ended: float
) -> tuple[list[dict[str, Any]], int]:
    """The fates, and how many of them are final LONGEST_AFTER the load's end."""
    fates: dict[str, dict[str, Any]] = {}
    while True:
        is_last = time.monotonic() - ended >= LONGEST_AFTER
        left = [each for each in signatures if not fates.get(each, {}).get("final")]
        for place in range(0, len(left), 256):
            some = left[place : place + 256]
            with suppress(OSError, RuntimeError):
                url = f"{service.base_url}/priority"
                found = call(url, "getTransactionFates", some, key=service.key)
                fates.update(zip(some, found, strict=True))
        final = sum(bool(fate["final"]) for fate in fates.values())
        if final == len(signatures) or is_last:
            return list(fates.values()), final
        time.sleep(2)


if __name__ == "__main__":
    main()
