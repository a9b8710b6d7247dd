"""More submissions than land: what the whole service on localnet does at each rate, and after it.

An open loop sends `--rates` a second for `--seconds` each. Meanwhile /readyz, the follower's lag
behind localnet and a WebSocket's notifications are read each second. After each rate it waits until
the service is normal and all accepted submissions have a final fate.
"""

import argparse
import base64
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from os import environ
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import redis
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
environ.setdefault("TIDEMARK_RUN_DIR", tempfile.mkdtemp(prefix="tidemark-bench-"))
environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from benchmarks.machine import load  # noqa: E402
from benchmarks.open_load import send  # noqa: E402
from benchmarks.service import rpc_request  # noqa: E402
from embedded.addresses import embedded_addresses  # noqa: E402
from tests.clients.service import Service, running_service  # noqa: E402

RATES, SECONDS, CONNECTIONS = "50,100,200,300,500,1000,2000", 60, 256
LONGEST_AFTER = 60.0
_AIRDROPS, _AIRDROP = 5, 100_000_000_000
_NORMAL_LAG = 2


@dataclass
class Look:
    """What was seen at one second."""

    ready: str  # ok, degraded, or the checks that failed
    lag: int | None  # slots that the follower is behind localnet


@dataclass
class Watch(threading.Thread):
    """Looks at the service each second, and keeps a blockhash that is not old."""

    service: Service
    rpc: str
    blockhash: str = ""
    looks: list[Look] = field(default_factory=list)
    notified_at: list[float] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        url = embedded_addresses(self.service.run_dir).redis_url
        self._redis = redis.Redis.from_url(url)
        self._refresh()

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        while not self.is_over:
            at = time.monotonic()
            with suppress(Exception):
                self._refresh()
            self.looks.append(self.look())
            time.sleep(max(0.0, at + 1 - time.monotonic()))

    def look(self) -> Look:
        return Look(self._ready(), self._lag())

    def _refresh(self) -> None:
        config = {"commitment": "processed"}
        self.blockhash = call(self.rpc, "getLatestBlockhash", config)["value"]["blockhash"]

    def _ready(self) -> str:
        try:
            return str(_json(f"{self.service.base_url}/readyz", self.service.key)["status"])
        except HTTPError as error:
            checks = json.load(error)["checks"]
            return ",".join(name for name, each in checks.items() if not each["ok"])
        except OSError as error:
            return type(error).__name__

    def _lag(self) -> int | None:
        with suppress(Exception):
            newest = call(self.rpc, "getSlot", {"commitment": "processed"})
            found: Any = self._redis.hget("tidemark:follower", "head_slot")
            return max(0, int(newest) - int(found))
        return None

    def _listen(self) -> None:
        """A subscriber, which comes again where it is disconnected."""
        url = f"ws://{self.service.host}:{self.service.port}/"
        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "slotSubscribe"}
        while not self.is_over:
            with suppress(OSError, TimeoutError, ConnectionClosed):
                headers = {"Authorization": self.service.key}
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

    def __init__(self, watch: Watch, payer: Keypair, count: int) -> None:
        address = _json(f"{watch.service.base_url}/priority/fetchtipaddress", watch.service.key)
        self._to = Pubkey.from_string(address["address"])
        self._watch, self._payer, self._count = watch, payer, count
        self.signatures: dict[int, str] = {}
        self.accepted: list[str] = []
        self.refused: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        lamports = 1_000_000 + number
        pay = TransferParams(
            from_pubkey=self._payer.pubkey(), to_pubkey=self._to, lamports=lamports
        )
        blockhash = Hash.from_string(self._watch.blockhash)
        message = MessageV0.try_compile(self._payer.pubkey(), [transfer(pay)], [], blockhash)
        transaction = VersionedTransaction(message, [self._payer])
        self.signatures[number] = str(transaction.signatures[0])
        params = [
            base64.b64encode(bytes(transaction)).decode(),
            {"encoding": "base64", "skipPreflight": True},
        ]
        return rpc_request(self._watch.service.key, "sendTransaction", params, path="/priority")

    def answered(self, number: int, answer: bytes) -> None:
        body = json.loads(answer.partition(b"\r\n\r\n")[2])
        if "result" in body:
            self.accepted.append(self.signatures[number])
        else:
            self.refused[str(body["error"].get("data", {}).get("reason", body["error"]))] += 1


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rates", default=RATES)
    options.add_argument("--seconds", type=int, default=SECONDS)
    chosen = options.parse_args()
    with running_service(LOCALNET="true", LOCALNET_SLOT_MS="400", WEB_WORKERS="2") as service:
        rpc = f"http://127.0.0.1:{service.environment['LOCALNET_RPC_PORT']}"
        payer = Keypair()
        for _ in range(_AIRDROPS):
            call(rpc, "requestAirdrop", str(payer.pubkey()), _AIRDROP)
        watch = Watch(service, rpc)
        watch.start()
        time.sleep(15)  # batches of tip addresses are opened, and the lander's purse is filled
        print("| a second | accepted | refused | p99 | same or next slot | latest | final within")
        for rate in map(int, chosen.rates.split(",")):
            _measure(watch, payer, rate, chosen.seconds)
        watch.is_over = True


def _measure(watch: Watch, payer: Keypair, rate: int, seconds: int) -> None:
    submissions = Submissions(watch, payer, rate * seconds)
    first, since = len(watch.looks), time.monotonic()
    watch.ends.clear()
    address = (watch.service.host, watch.service.port)
    taken = send(
        address,
        submissions,
        rate=rate,
        connections=CONNECTIONS,
        answered=submissions.answered,
        longest=60.0,
    )
    lasted = time.monotonic() - since
    normal = _until_normal(watch)
    fates, final = _final_fates(watch.service, submissions.accepted, since + lasted)
    slots = Counter(
        fate["slot"] - fate["acceptedSlot"] for fate in fates if fate["slot"] is not None
    )
    looks = watch.looks[first:]
    lags = [look.lag for look in looks if look.lag is not None]
    soon = sum(count for passed, count in slots.items() if passed <= 1)
    words = [
        str(rate),
        f"{len(submissions.accepted)}",
        ", ".join(f"{count} {why}" for why, count in submissions.refused.most_common()) or "none",
        f"{taken.p99 * 1e3:.0f} ms in {lasted:.0f} s",
        f"{soon / max(1, len(fates)):.0%}",
        str(max(slots, default=0)),
        f"{final} of {len(fates)} {dict(Counter(fate['state'] for fate in fates))}",
        f"normal after {normal:.0f} s",
        f"lag {max(lags, default=0)} at most, above 10 in {sum(lag > 10 for lag in lags)} s",
        f"readyz {dict(Counter(look.ready for look in looks))}",
        f"subscriber silent for {watch.longest_silence(since):.1f} s {watch.ends}",
        f"load {load():.1f}",
    ]
    print(f"| {' | '.join(words)} |", flush=True)


def _until_normal(watch: Watch) -> float:
    """Seconds until /readyz is ok and the follower has caught up."""
    began = time.monotonic()
    while time.monotonic() - began < 4 * LONGEST_AFTER:
        look = watch.look()
        if look.ready == "ok" and look.lag is not None and look.lag <= _NORMAL_LAG:
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


def _json(url: str, key: str) -> Any:
    with urlopen(Request(url, headers={"Authorization": key}), timeout=30) as answer:
        return json.load(answer)


def call(url: str, method: str, *params: Any, key: str = "") -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Content-Type": "application/json", "Authorization": key}
    with urlopen(Request(url, body, headers), timeout=30) as answer:
        found = json.load(answer)
    if "error" in found:
        raise RuntimeError(found["error"])
    return found["result"]


if __name__ == "__main__":
    main()
