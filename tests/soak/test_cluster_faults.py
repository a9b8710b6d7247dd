"""A Citus cluster whose nodes fail: what the service says meanwhile, and that nothing is lost."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

import psycopg
import pytest

from tests.clients.service import Service, running_service
from tests.cluster import citus_programs, cluster, nodes_of
from tests.engines import Engine
from tests.localnet_process import Localnet
from tests.readiness import readyz_of
from tests.soak.doors import Doors
from tests.soak.test_chaos import localnet_of
from tests.soak.test_foreign_servers import MEANT, OUTAGES, wait_until_well

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
SETTLE_SECONDS = 120.0
# A statement that waits for a node ends by STATEMENT_TIMEOUT_MS (15 s).
SLOWEST_SECONDS = 30.0
NAME = "service"


@dataclass(frozen=True, slots=True)
class Clustered:
    service: Service
    localnet: Localnet
    coordinator: Engine
    worker: Engine


@pytest.fixture(scope="module")
def clustered() -> Iterator[Clustered]:
    with ExitStack() as stack:
        coordinator = stack.enter_context(cluster(citus_programs(), [NAME]))
        service = stack.enter_context(
            running_service(
                DATABASE_URL=coordinator.url(NAME),
                ARCHIVE_CLUSTER="citus",
                LOCALNET="true",
                LOCALNET_SLOT_MS="300",
            )
        )
        localnet = localnet_of(service)
        localnet.call("setFaults", {"replaySlots": 100_000})
        yield Clustered(service, localnet, coordinator, nodes_of(coordinator)[1])


Fault = Callable[[Clustered], AbstractContextManager[None]]


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        pytest.param(lambda it: it.worker.program.away(), "the cluster's node", id="worker away"),
        pytest.param(lambda it: it.worker.program.hanging(), "a node of the", id="worker hangs"),
        pytest.param(lambda it: it.coordinator.program.away(), "PostgreSQL", id="coordinator away"),
        pytest.param(lambda it: it.coordinator.program.hanging(), "PostgreSQL", id="it hangs"),
    ],
)
def test_a_node_that_fails_is_named_and_nothing_is_lost(
    clustered: Clustered, fault: Fault, named: str
) -> None:
    service = clustered.service
    wait_until_well(service)
    doors = Doors(service)
    try:
        with fault(clustered):
            time.sleep(SECONDS)
            _, found = readyz_of(service.base_url, service.run_dir, timeout=60)
        settled = wait_until_well(service)
        tried = doors.tried()
    finally:
        doors.stop()
    why = [
        each["why"]
        for each in found["checks"].values()
        if each.get("cause") == "database_unavailable"
    ]
    slowest = max(tried.slowest, key=lambda door: tried.slowest[door])
    print(
        f"\n{found['status']} {why}; slowest {slowest} {tried.slowest[slowest]:.1f} s;"
        f" {dict(sum(tried.answers.values(), Counter()))}; well after {settled:.1f} s"
    )
    assert found["status"] != "ok" and any(named in each for each in why)
    assert tried.kinds() <= OUTAGES | MEANT
    assert tried.slowest[slowest] < SLOWEST_SECONDS
    check_whole(clustered)


def check_whole(clustered: Clustered) -> None:
    """All that the coordinator says is stored is on the nodes, up to the chain's newest slot."""
    last = clustered.localnet.call("getSlot", {"commitment": "finalized"})
    deadline = time.monotonic() + SETTLE_SECONDS
    with psycopg.connect(clustered.coordinator.url(NAME), autocommit=True) as connection:

        def one(sql: str) -> tuple[object, ...]:
            found = connection.execute(sql).fetchone()
            assert found is not None
            return found

        while int(str(one("SELECT max(slot) FROM historical_block")[0])) < last:
            assert time.monotonic() < deadline
            time.sleep(1)
        for table in ("historical", "rewind"):
            while one(f"SELECT count(*) FROM {table}_gap WHERE closed_at IS NULL") != (0,):
                assert time.monotonic() < deadline
                time.sleep(1)
        stored = {slot for (slot,) in connection.execute("SELECT slot FROM historical_block")}
        chain = clustered.localnet.call("getBlocks", min(stored), last, {"commitment": "finalized"})
        assert set(chain) <= stored
        # One statement: the service goes on storing.
        transactions, counted = one(
            f"SELECT (SELECT count(*) FROM historical_transaction WHERE slot <= {last}),"
            f" (SELECT sum(transaction_count) FROM historical_block WHERE slot <= {last})"
        )
        assert transactions == counted
        writes, counted = one(
            f"SELECT (SELECT count(*) FROM rewind_accountchange WHERE slot <= {last}),"
            f" (SELECT sum(changes) FROM rewind_archivedslot WHERE slot <= {last})"
        )
        assert writes == counted
