"""A node without a stream: its blocks fill the ledger, and the archive is left alone."""

import contextlib
import threading
from collections.abc import Iterator

import pytest
from django.db import connection
from django.utils import timezone

from historical.models import Block
from historical.models import Gap as LedgerGap
from ingest.node_follower import NodeFollower
from ingest.source_lock import SourceLock
from rewind.models import ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.ingest.following import wait
from tests.localnet_process import Localnet, running_localnet
from upstream.node import Node

pytestmark = pytest.mark.django_db(transaction=True)


@contextlib.contextmanager
def following(localnet: Localnet) -> Iterator[None]:
    lock = SourceLock(localnet.url)
    wait(lock.take, "the lock that a follower before this one held")
    follower = NodeFollower(Node(localnet.url, timeout_seconds=5.0), lock, now=timezone.now)

    def run() -> None:
        follower.run()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        follower.stop()
        thread.join()
        lock.let_go()


def newest() -> int:
    block = Block.objects.order_by("-slot").first()
    return -1 if block is None else block.slot


def test_blocks_fill_the_ledger_and_a_stop_leaves_no_hole(empty_redis: None) -> None:
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=20) as localnet:
        with following(localnet):
            wait(lambda: newest() >= 10, "slot 10")
        stopped_at = newest()
        localnet.wait_for_slot(stopped_at + 20)
        with following(localnet):
            wait(lambda: newest() >= stopped_at + 25, "what was made meanwhile")
        slots = list(Block.objects.order_by("slot").values_list("slot", flat=True))
        listed = localnet.call("getBlocks", slots[0], slots[-1], {"commitment": "finalized"})
        assert slots == listed
    assert not ArchivedSlot.objects.exists()
    assert not list(LedgerGap.objects.values())
    assert not ArchiveGap.objects.exists()


def test_a_node_that_goes_away_is_waited_for(empty_redis: None) -> None:
    with running_localnet(LOCALNET_SLOT_MS=40) as localnet, following(localnet):
        wait(lambda: newest() >= 5, "slot 5")
        localnet.kill()
        localnet.start()
        again = localnet.call("getSlot", {"commitment": "finalized"}) + 5
        wait(lambda: newest() >= again, "the blocks after it came back")
        slots = list(Block.objects.order_by("slot").values_list("slot", flat=True))
        assert slots == localnet.call("getBlocks", slots[0], slots[-1], {"commitment": "finalized"})
