"""The whole service while its parts are killed and its stream misbehaves: all stored is right."""

import base64
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from solders.pubkey import Pubkey

from columns.packed_data import unpack
from embedded.addresses import embedded_addresses
from tests.clients.service import Service, running_service
from tests.localnet_process import Localnet
from tests.soak.load import Load

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "300"))
SETTLE_SECONDS = 120.0
# By what only their command lines have.
VICTIMS = {
    "follower": "manage.py follow",
    "ingest": "worker --queues ingest",
    "worker": "worker --concurrency",
    "web": "manage.py serve ",
    "valkey": "valkey-server",
    "postgres": "postgres",
}
NO_FAULTS = {
    "duplicatePercent": 0,
    "reorderPercent": 0,
    "losePercent": 0,
    "replayLastWrites": False,
    "refuseStreams": False,
}


def test_what_is_stored_is_the_chain_whatever_is_killed() -> None:
    chance = random.Random(int(os.environ.get("SOAK_SEED", "5")))
    settings = {"LOCALNET": "true", "LOCALNET_SLOT_MS": "100", "LOCALNET_SKIP_PERCENT": "5"}
    with running_service(**settings) as service:
        localnet = localnet_of(service)
        # What was lost can be asked for again as long as the test lasts.
        localnet.call("setFaults", {"replaySlots": 100_000})
        load = Load(localnet, pause_seconds=0.03)
        load.start()
        kills = storm(service, localnet, chance)
        localnet.call("setFaults", NO_FAULTS)
        load.stop()
        last = localnet.call("getSlot", {"commitment": "finalized"}) + 5
        settled = settle(service, last)
        figures = check(service, localnet, last)
        print(
            f"\n{SECONDS:.0f} s, kills {dict(kills)}, {load.sent} transactions sent,"
            f" whole after {settled:.1f} s; {figures}"
        )
        assert sum(kills.values()) >= SECONDS / 15 and kills.keys() == VICTIMS.keys()


def localnet_of(service: Service) -> Localnet:
    names = ("RPC", "GEYSER", "TPU", "BLOCK_ENGINE")
    ports = [int(service.environment[f"LOCALNET_{name}_PORT"]) for name in names]
    localnet = Localnet(service.run_dir, *ports, settings={})
    deadline = time.monotonic() + 30
    while True:
        try:
            assert localnet.call("getHealth") == "ok"
            return localnet
        except (OSError, AssertionError):
            assert time.monotonic() < deadline, "localnet does not answer"
            time.sleep(0.1)


FAULTS: list[dict[str, Any]] = [
    {"losePercent": 1, "duplicatePercent": 5, "reorderPercent": 5},
    {"dropStreams": True, "replayLastWrites": True},
    {"forkSlots": 3},
    {"skipSlots": 3},
    {"duplicatePercent": 20, "reorderPercent": 20, "forkSlots": 2},
    {"refuseStreams": True, "dropStreams": True},
]


def storm(
    service: Service,
    localnet: Localnet,
    chance: random.Random,
    faults: Sequence[dict[str, Any]] = FAULTS,
) -> Counter[str]:
    """Kills and faults, in turn and at random, until the time is over."""
    kills: Counter[str] = Counter()
    end = time.monotonic() + SECONDS
    turn = 0
    while time.monotonic() < end:
        localnet.call("setFaults", NO_FAULTS)
        localnet.call("setFaults", chance.choice(faults))
        time.sleep(chance.uniform(1.0, 5.0))
        victim = list(VICTIMS)[turn % len(VICTIMS)] if chance.random() < 0.8 else "follower"
        turn += 1
        if kill(service.run_dir, VICTIMS[victim], chance):
            kills[victim] += 1
    return kills


def kill(run_dir: Path, command: str, chance: random.Random) -> bool:
    """SIGKILL for one of the processes of the run directory whose command line has the text."""
    found = [
        process.pid
        for process in psutil.process_iter(["cmdline", "environ", "cwd"])
        if command in " ".join(process.info["cmdline"] or []) and _is_of(process.info, run_dir)
    ]
    if not found:
        return False
    os.kill(chance.choice(found), signal.SIGKILL)
    return True


def _is_of(process: dict[str, Any], run_dir: Path) -> bool:
    texts = [*(process["cmdline"] or []), process["cwd"] or ""]
    set_to = (process["environ"] or {}).get("TIDEMARK_RUN_DIR")
    return set_to == str(run_dir) or any(str(run_dir) in text for text in texts)


@contextmanager
def database(service: Service) -> Iterator[Any]:
    url = embedded_addresses(service.run_dir).database_url
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        yield cursor


def rows(service: Service, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """The answer, whenever the database is back."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with database(service) as cursor:
                cursor.execute(sql, parameters)
                return list(cursor.fetchall()) if cursor.description else []
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "the database does not come back"
            time.sleep(0.5)


def settle(service: Service, last: int) -> float:
    """Seconds until both areas reach the slot and no gap is open any more."""
    began = time.monotonic()
    while True:
        newest = rows(
            service,
            "SELECT (SELECT max(slot) FROM historical_block),"
            " (SELECT max(slot) FROM rewind_archivedslot)",
        )[0]
        gaps = [
            gap
            for area in ("historical", "rewind")
            for gap in rows(
                service,
                f"SELECT '{area}', from_slot, to_slot, status, cause, tries, history -> -1"
                f" FROM {area}_gap WHERE closed_at IS NULL ORDER BY from_slot",
            )
        ]
        if None not in newest and min(newest) >= last and not gaps:
            return time.monotonic() - began
        assert time.monotonic() - began < SETTLE_SECONDS, (newest, last, gaps[:20])
        # As an operator's "try again now" does.
        for area in ("historical", "rewind"):
            rows(service, f"UPDATE {area}_gap SET next_try_at = now() WHERE closed_at IS NULL")
        time.sleep(3.0)


def check(service: Service, localnet: Localnet, last: int) -> str:
    """Everything that is stored, against localnet's own word."""
    archived = {
        slot: (granularity, changes)
        for slot, granularity, changes in rows(
            service,
            "SELECT slot, granularity, changes FROM rewind_archivedslot WHERE slot <= %s",
            last,
        )
    }
    blocks = dict(
        rows(
            service,
            "SELECT slot, transaction_count FROM historical_block WHERE slot <= %s",
            last,
        )
    )
    listed = localnet.call("getBlocks", min(archived), last, {"commitment": "finalized"})
    assert sorted(archived) == listed, set(archived) ^ set(listed)
    assert sorted(blocks) == listed, set(blocks) ^ set(listed)
    stored: dict[int, Counter[tuple[str, int, bytes]]] = {slot: Counter() for slot in listed}
    for slot, pubkey, lamports, data in rows(
        service,
        "SELECT slot, pubkey, lamports, data FROM rewind_accountchange"
        " WHERE kind = 0 AND slot <= %s",
        last,
    ):
        stored[slot][str(Pubkey(bytes(pubkey))), int(lamports), unpack(bytes(data))] += 1
    writes = transactions = coarse = 0
    newest: dict[str, tuple[str, int, bytes]] = {}
    for slot in listed:
        made = [
            (each["pubkey"], each["lamports"], data_of(each))
            for each in localnet.call("getAccountWrites", slot)
        ]
        granularity, changes = archived[slot]
        found = stored[slot]
        assert changes == found.total(), f"slot {slot} is half there"
        last_ones = Counter({each[0]: each for each in made}.values())
        if granularity == 0:
            assert found == Counter(made), f"slot {slot}"
        else:
            coarse += 1
            assert last_ones <= found <= Counter(made), f"slot {slot}"
        newest.update({each[0]: each for each in made})
        signatures = localnet.call("getBlock", slot, {"transactionDetails": "signatures"})
        assert blocks[slot] == len(signatures["signatures"]), f"slot {slot}"
        writes += found.total()
        transactions += blocks[slot]
    ledger = rows(
        service,
        "SELECT count(*), count(DISTINCT signature) FROM historical_transaction WHERE slot <= %s",
        last,
    )[0]
    assert ledger == (transactions, transactions)
    closed = rows(
        service,
        "SELECT cause, closed_by, count(*) FROM rewind_gap GROUP BY 1, 2 ORDER BY 3 DESC",
    )
    return (
        f"{len(listed)} slots ({coarse} coarse), {transactions} transactions, {writes} writes,"
        f" {len(newest)} accounts; gaps {json.dumps(closed)}"
    )


def data_of(write: dict[str, Any]) -> bytes:
    return base64.b64decode(write["data"][0])
