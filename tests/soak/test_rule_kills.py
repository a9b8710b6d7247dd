"""Event rules while every process is killed at random: each fate and write is posted, in order per
subject, and nothing twice by its id.
"""

import contextlib
import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from solders.hash import Hash

from tests.clients.python_client import root_key_of
from tests.clients.service import Service, running_service
from tests.soak.submitting import Answered, Sender
from tests.soak.test_chaos import localnet_of, rows
from tests.soak.test_landing_chaos import (
    TipAddresses,
    all_fates,
    call,
    fresh,
    funded,
    newest_blockhash,
    storm,
)

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "120"))
PER_SECOND = float(os.environ.get("SOAK_RATE", "40"))
# Of a hundred requests the receiver refuses so many, and leaves so many without an answer.
REFUSED, SILENT = 4, 2
POSTED_SECONDS = 240.0


@dataclass
class Got:
    """What the receiver accepted: (webhook-id, content), in the order of the requests."""

    accepted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def first(self) -> dict[str, dict[str, Any]]:
        """Each event by its id, in the order in which it came first."""
        found: dict[str, dict[str, Any]] = {}
        with self.lock:
            for name, content in self.accepted:
                assert found.setdefault(name, content) == content, "one id, two contents"
        return found


@contextlib.contextmanager
def receiving(chance: random.Random) -> Iterator[tuple[str, Got]]:
    """A receiver that keeps its connections, and that fails now and then."""
    got = Got()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            roll = chance.randrange(100)
            with got.lock:
                got.requests += 1
                if roll >= REFUSED:
                    got.accepted.append((self.headers["webhook-id"], json.loads(body)))
            if REFUSED <= roll < REFUSED + SILENT:
                self.close_connection = True  # it has the event, and its answer is lost
                return
            self.send_response(503 if roll < REFUSED else 204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook", got
    finally:
        server.shutdown()
        server.server_close()


def manage(service: Service, root_key: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{service.base_url}/manage/v1/{path}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {root_key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read()) from None


def test_each_fate_and_write_is_posted_whatever_is_killed() -> None:
    chance = random.Random(int(os.environ.get("SOAK_SEED", "7")))
    settings = {
        "LOCALNET": "true",
        "LOCALNET_SLOT_MS": "200",
        "WEB_WORKERS": "2",
        "EVENT_RULE_WAITING": "1000000",
    }
    with running_service(**settings) as service, receiving(chance) as (url, got):
        localnet = localnet_of(service)
        localnet.call("setFaults", {"replaySlots": 100_000})
        rows(service, "UPDATE access_tier SET requests_per_second = NULL WHERE name = 'epic'")
        ((customer,),) = rows(
            service, "SELECT k.customer_id FROM access_apikey k JOIN access_tier t"
            " ON t.id = k.tier_id WHERE t.name = 'epic' LIMIT 1"
        )  # fmt: skip
        root_key = root_key_of(service)
        payer = funded(localnet)
        address = str(payer.pubkey())
        hook = {"customer": customer, "name": "receiver", "url": url}
        webhook = manage(service, root_key, "webhooks", hook)["id"]
        for trigger, condition in (
            ("submission", {}),
            ("account", {"address": address}),
            ("mention", {"address": address}),
        ):
            body = {"customer": customer, "webhook": webhook, "name": trigger}
            manage(service, root_key, "rules", {**body, "trigger": trigger, "condition": condition})
        addresses = TipAddresses(service)
        answered = Answered()
        sender = Sender(
            service,
            payer,
            addresses.next,
            fresh(lambda: Hash.from_string(newest_blockhash(localnet)), seconds=1.0),
            answered,
            per_second=PER_SECOND,
            seed=1,
        )
        sender.start()
        kills = storm(service, addresses, chance)
        sender.stop()
        fates, _settled = all_fates(service, list(answered.accepted))
        last = max(fate["slot"] or 0 for fate in fates.values())
        landed = {name: fate for name, fate in fates.items() if fate["slot"] is not None}
        began = time.monotonic()
        wanted = {(f"submission.{fate['state']}", name) for name, fate in fates.items()}
        wanted |= {("address.mentioned", name) for name in landed}
        missing = wanted
        while missing:
            assert time.monotonic() - began < POSTED_SECONDS, (
                f"{len(missing)} of {len(wanted)} were not posted, as {list(missing)[:3]}:"
                f" {rows(service, 'SELECT state, count(*) FROM alerts_delivery GROUP BY 1')}"
            )
            time.sleep(1.0)
            found = got.first().values()
            missing = wanted - {(each["type"], each["data"].get("signature")) for each in found}
        spent = time.monotonic() - began
        written = slots_that_wrote(service, address, last)
        events = got.first()
        by_kind = Counter(each["type"] for each in events.values())
        print(
            f"\nkills {dict(kills)}; {len(fates)} fates, {dict(by_kind)}, all posted"
            f" {spent:.0f} s after the last fate; {got.requests} requests, {len(got.accepted)}"
            f" accepted, {len(got.accepted) - len(events)} of them repetitions by id"
        )
        once: Counter[tuple[Any, ...]] = Counter()
        order: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for each in events.values():
            data = each["data"]
            once[each["type"], data.get("signature"), data.get("slot")] += 1
            if each["type"].startswith("submission."):
                fate = fates[data["signature"]]
                assert (each["type"], data["slot"], data["err"]) == (
                    f"submission.{fate['state']}",
                    fate["slot"],
                    fate["err"],
                )
            else:
                place = (data["slot"], data.get("transactionIndex", 0))
                order[each["type"]].append(place)
        assert set(once.values()) == {1}, "one event has two ids"
        for kind, places in order.items():
            # As they were stored: a slot that was filled late comes behind newer ones.
            stored = rows(
                service, "SELECT (data->>'slot')::bigint,"
                " COALESCE((data->>'transactionIndex')::int, 0) FROM alerts_event"
                " WHERE kind = %s ORDER BY id LIMIT %s", kind, len(places)
            )  # fmt: skip
            assert places == stored, kind
        told = {slot for slot, _index in order["account.written"]}
        assert {slot for slot in told if slot <= last} == written
        assert sum(kills.values()) >= SECONDS / 8


def slots_that_wrote(service: Service, address: str, last: int) -> set[int]:
    """The archive's own word on the slots up to `last` that wrote the account, from its first."""
    found: set[int] = set()
    before: dict[str, str] = {}
    while True:
        config = {"fromSlot": 0, "toSlot": last, "limit": 1_000, **before}
        page = call(service, "/rewind", "getAccountChanges", address, config)["value"]
        found |= {each["slot"] for each in page["changes"]}
        if page["next"] is None:
            return found
        before = {"before": page["next"]}
