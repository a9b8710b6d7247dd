"""A PostgreSQL and a Redis that the service does not supervise, under faults: every door answers
in time and says why, readiness names it, and afterwards everything accepted and stored is right.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import redis
from solders.hash import Hash

from embedded.programs import wheel_programs
from tests.clients.service import Service, running_service
from tests.engines import Engine, postgres, standby, superuser, valkey
from tests.localnet_process import Localnet
from tests.network import Network, network_to
from tests.readiness import readyz_of
from tests.soak.doors import Doors
from tests.soak.submitting import Answered, Sender
from tests.soak.test_chaos import localnet_of
from tests.soak.test_landing_chaos import (
    TipAddresses,
    all_fates,
    compare,
    fresh,
    funded,
    newest_blockhash,
)
from tests.unwritable_database import small_disk

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
SETTLE_SECONDS = 120.0
# A server that hangs is given up after 7 s, and a request may need it twice.
SLOWEST_SECONDS = 20.0
# How a door refuses meanwhile; `unavailable` is that of GET fetchtipaddress.
OUTAGES = {"database_unavailable", "database_full", "database_read_only", "unavailable", "degraded"}
OUTAGES |= {"redis_unavailable", "redis_full", "queue_unavailable", "fates_unavailable"}
OUTAGES |= {"landing_behind", "tip_addresses_unread", "upstreams_unread", "queue_full", "disk_full"}
# What has nothing to do with it. The sender asks for a blockhash each second; a busy machine can be
# later with it than the hash lives.
MEANT = {"ok", "tip_too_small", "transaction_duplicate", "slot_too_new", "ledger_empty"}
MEANT |= {"blockhash_expired"}


@dataclass
class Foreign:
    """The servers of a service, the way to its PostgreSQL, and that one's disk. What starts later
    ends with `stack`.
    """

    service: Service
    database: Engine
    network: Network
    redis: Engine
    disk: Path
    stack: ExitStack


Fault = Callable[[Foreign], AbstractContextManager[None]]


@contextlib.contextmanager
def cut(foreign: Foreign) -> Iterator[None]:
    """Every connection is reset, twice a second."""
    ending = threading.Event()

    def again() -> None:
        while not ending.wait(0.5):
            foreign.network.cut()

    thread = threading.Thread(target=again)
    thread.start()
    yield
    ending.set()
    thread.join()


@contextlib.contextmanager
def crowded(foreign: Foreign) -> Iterator[None]:
    with superuser(foreign.database, "postgres") as server:
        server.execute("ALTER ROLE tidemark CONNECTION LIMIT 0")
        _end_sessions(server)
        yield
        server.execute("ALTER ROLE tidemark CONNECTION LIMIT -1")


@contextlib.contextmanager
def own_timeout(foreign: Foreign) -> Iterator[None]:
    """The operator's: the service's own setting counts."""
    with superuser(foreign.database, "postgres") as server:
        server.execute("ALTER ROLE tidemark SET statement_timeout = '5ms'")
        _end_sessions(server)
        yield
        server.execute("ALTER ROLE tidemark RESET statement_timeout")


@contextlib.contextmanager
def read_only(foreign: Foreign) -> Iterator[None]:
    with superuser(foreign.database, "postgres") as server:
        server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        server.execute("SELECT pg_reload_conf()")
        yield
        server.execute("ALTER SYSTEM RESET default_transaction_read_only")
        server.execute("SELECT pg_reload_conf()")


@contextlib.contextmanager
def full(foreign: Foreign) -> Iterator[None]:
    filler = foreign.disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 20)):
            pass
    yield
    filler.unlink()


def _end_sessions(server: psycopg.Connection) -> None:
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tidemark'"
    )


@contextlib.contextmanager
def failed_over(foreign: Foreign) -> Iterator[None]:
    """The server ends, and its standby is promoted late."""
    other = foreign.stack.enter_context(standby(_programs(), foreign.database, **SMALL))
    foreign.database.program.stop()
    foreign.network.lead_to(other.port)
    yield
    with superuser(other, "postgres") as server:
        server.execute("SELECT pg_promote()")
    foreign.database = other


@contextlib.contextmanager
def redis_full(foreign: Foreign) -> Iterator[None]:
    with redis.Redis(port=foreign.redis.port) as server:
        server.config_set("maxmemory", "1")
        yield
        server.config_set("maxmemory", "0")


@contextlib.contextmanager
def redis_replica(foreign: Foreign) -> Iterator[None]:
    with redis.Redis(port=foreign.redis.port) as server:
        server.replicaof("127.0.0.1", "1")
        yield
        server.replicaof("NO", "ONE")


FAULTS: dict[str, tuple[Fault, set[str]]] = {
    "the way refused": (lambda it: it.network.refused(), {"database_unavailable"}),
    "connections reset": (cut, set()),
    "no connection left": (crowded, {"database_unavailable"}),
    "a timeout of its operator's": (own_timeout, set()),
    "the way hangs": (lambda it: it.network.hanging(), {"database_unavailable"}),
    "it hangs": (lambda it: it.database.program.hanging(), {"database_unavailable"}),
    "killed": (lambda it: it.database.program.away(), {"database_unavailable"}),
    "read-only": (read_only, {"database_read_only"}),
    "its disk full": (full, {"database_full", "database_unavailable"}),
    "failed over": (failed_over, {"database_read_only"}),
    "Redis killed": (lambda it: it.redis.program.away(), {"redis_unavailable"}),
    "Redis hangs": (lambda it: it.redis.program.hanging(), {"redis_unavailable"}),
    "Redis full": (redis_full, {"redis_full"}),
    "Redis a replica": (redis_replica, {"redis_unavailable"}),
}
SMALL = {"max_connections": "120", "max_wal_size": "64MB", "min_wal_size": "32MB"}


def _programs() -> Path:
    return wheel_programs().postgres.parent


@pytest.fixture(scope="module")
def foreign() -> Iterator[Foreign]:
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk("700m", mode="1777"))
        before, tempfile.tempdir = tempfile.tempdir, str(disk)
        try:
            database = stack.enter_context(postgres(_programs(), **SMALL))
        finally:
            tempfile.tempdir = before
        network = stack.enter_context(network_to(database.port))
        server = stack.enter_context(valkey(wheel_programs().valkey))
        service = stack.enter_context(
            running_service(
                DATABASE_URL=database.url().replace(str(database.port), str(network.port)),
                REDIS_URL=f"redis://127.0.0.1:{server.port}/0",
                LOCALNET="true",
                LOCALNET_SLOT_MS="200",
            )
        )
        found = Foreign(service, database, network, server, disk, stack)
        with superuser(database, "tidemark") as connection:
            connection.execute(
                "UPDATE access_tier SET requests_per_second = NULL WHERE name = 'epic'"
            )
        yield found


@pytest.fixture(scope="module")
def localnet(foreign: Foreign) -> Localnet:
    found = localnet_of(foreign.service)
    found.call("setFaults", {"replaySlots": 100_000})
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_every_door_says_why_and_all_is_right_afterwards(
    name: str, foreign: Foreign, localnet: Localnet
) -> None:
    fault, causes = FAULTS[name]
    service = foreign.service
    wait_until_well(service)
    answered = Answered()
    sender = Sender(
        service,
        funded(localnet),
        TipAddresses(service).next,
        fresh(lambda: Hash.from_string(newest_blockhash(localnet)), seconds=1.0),
        answered,
        per_second=10.0,
        seed=5,
    )
    doors = Doors(service)
    sender.start()
    try:
        time.sleep(5)
        with fault(foreign):
            time.sleep(SECONDS)
            code, found = readyz_of(service.base_url, service.run_dir, timeout=60)
        settled = wait_until_well(service)
        tried = doors.tried()
    finally:
        sender.stop()
        doors.stop()
    fates, final = all_fates(service, list(answered.accepted))
    named = {each["cause"] for each in found["checks"].values() if "cause" in each}
    slowest = max(tried.slowest, key=lambda door: tried.slowest[door])
    print(
        f"\n{name}: {code} {found['status']} {named}; slowest {slowest}"
        f" {tried.slowest[slowest]:.1f} s; {dict(sum(tried.answers.values(), Counter()))};"
        f" {len(answered.accepted)} accepted, refused {dict(answered.refused)},"
        f" {answered.unanswered} unanswered; well after {settled:.1f} s, final after {final:.1f} s"
    )
    assert not causes or (causes & named and found["status"] != "ok")
    assert tried.kinds() | set(answered.refused) <= OUTAGES | MEANT
    assert answered.unanswered == 0
    assert tried.slowest[slowest] < SLOWEST_SECONDS
    assert len(fates) == len(answered.accepted) > 0
    compare(localnet, fates, answered.accepted)
    check_ledger(foreign, localnet)


def wait_until_well(service: Service) -> float:
    """Until nothing is to be seen of a fault: the seconds that it took."""
    began = time.monotonic()
    while True:
        with contextlib.suppress(OSError, ValueError):
            code, found = readyz_of(service.base_url, service.run_dir, timeout=60)
            if (code, found["status"]) == (200, "ok"):
                return time.monotonic() - began
        assert time.monotonic() - began < SETTLE_SECONDS, found
        time.sleep(0.5)


def check_ledger(foreign: Foreign, localnet: Localnet) -> None:
    """Every block that the chain has is stored, and no gap is left."""
    last = localnet.call("getSlot", {"commitment": "finalized"})
    began = time.monotonic()
    with psycopg.connect(foreign.database.url(), autocommit=True) as connection:
        while True:
            found = connection.execute("SELECT slot FROM historical_block").fetchall()
            slots = [slot for (slot,) in found]
            gaps = connection.execute(
                "SELECT from_slot, to_slot, cause FROM historical_gap WHERE closed_at IS NULL"
                " UNION SELECT from_slot, to_slot, cause FROM rewind_gap WHERE closed_at IS NULL"
            ).fetchall()
            if max(slots) >= last and not gaps:
                break
            assert time.monotonic() - began < SETTLE_SECONDS, (max(slots), last, gaps)
            time.sleep(1)
    chain = localnet.call("getBlocks", min(slots), last, {"commitment": "finalized"})
    assert set(chain) <= set(slots), sorted(set(chain) - set(slots))
