"""A hundred kills of an indexer while streams drop and lose messages: nothing twice or missing."""

import threading
from collections.abc import Iterator

import pytest

from tests.localnet_process import Localnet, running_localnet
from tests.subscriptions.conftest import Served
from tests.subscriptions.indexer import Indexer

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]

KILLS = 100


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=100, LOCALNET_SKIP_PERCENT=5) as running:
        yield running


@pytest.fixture
def served(localnet: Localnet, api_key: str) -> Iterator[Served]:
    from tests.ingest.following import caught_up, follower, worker
    from tests.web_server import service_worker
    from tests.webserver.serving import serving

    with (
        worker(),
        follower(localnet.geyser_url, localnet.url),
        serving(service_worker()) as port,
    ):
        caught_up(localnet)
        yield Served(port, localnet, api_key)


def test_an_indexer_that_is_killed_a_hundred_times_has_everything_once(served: Served) -> None:
    stopping = threading.Event()

    def drop() -> None:
        while not stopping.wait(3.0):
            served.localnet.call("setFaults", {"dropStreams": True})

    served.localnet.call("setFaults", {"losePercent": 1, "reorderPercent": 2})
    dropping = threading.Thread(target=drop)
    dropping.start()
    indexer = Indexer(served, pause_seconds=0.05)
    try:
        indexer.runs(kills=KILLS)
    finally:
        stopping.set()
        dropping.join()
        print(
            f"\n{KILLS} kills: {len(indexer.sent)} transactions, {len(indexer.seen)} seen,"
            f" gaps {indexer.gaps}"
        )
