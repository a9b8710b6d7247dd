"""A node without a stream: its blocks fill the ledger, and the archive is left alone."""

import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from django.db import connection
from django.utils import timezone

from historical.models import Block
from historical.models import Gap as LedgerGap
from ingest.node_follower import NodeFollower
from ingest.sources import SourceLock
from rewind.models import ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.priority.odd_nodes import OddNode, odd_node
from upstream.node import Node

pytestmark = pytest.mark.django_db(transaction=True)


@contextlib.contextmanager
def following(url: str) -> Iterator[None]:
    lock = SourceLock(url)
    wait(lock.take, "the lock that a follower before this one held")
    follower = NodeFollower(Node(url, timeout_seconds=5.0), lock, now=timezone.now)

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
        with following(localnet.url):
            wait(lambda: newest() >= 10, "slot 10")
        stopped_at = newest()
        localnet.wait_for_slot(stopped_at + 20)
        with following(localnet.url):
            wait(lambda: newest() >= stopped_at + 25, "what was made meanwhile")
        slots = list(Block.objects.order_by("slot").values_list("slot", flat=True))
        listed = localnet.call("getBlocks", slots[0], slots[-1], {"commitment": "finalized"})
        assert slots == listed
    assert not ArchivedSlot.objects.exists()
    assert not list(LedgerGap.objects.values())
    assert not ArchiveGap.objects.exists()


def test_a_node_that_goes_away_is_waited_for(empty_redis: None) -> None:
    with running_localnet(LOCALNET_SLOT_MS=40) as localnet, following(localnet.url):
        wait(lambda: newest() >= 5, "slot 5")
        localnet.kill()
        localnet.start()
        again = localnet.call("getSlot", {"commitment": "finalized"}) + 5
        wait(lambda: newest() >= again, "the blocks after it came back")
        slots = list(Block.objects.order_by("slot").values_list("slot", flat=True))
        assert slots == localnet.call("getBlocks", slots[0], slots[-1], {"commitment": "finalized"})


@contextlib.contextmanager
def lying_node(localnet: Localnet) -> Iterator[tuple[OddNode, list[int]]]:
    """localnet's node, which calls a slot its newest that it has not reached, every third time."""
    told: list[int] = []

    def answer(body: bytes) -> tuple[int, bytes]:
        request = urllib.request.Request(
            localnet.url, body, {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request) as response:
            content = response.read()
        if b'"getSlot"' in body:
            told.append(len(told))
            if len(told) % 3 == 0:
                lies = [2**63, 2**64, 10**9, json.loads(content)["result"] + 300]
                lie = lies[len(told) // 3 % len(lies)]
                return 200, b'{"jsonrpc":"2.0","id":1,"result":%d}' % lie
        return 200, content

    with odd_node(answer) as node:
        yield node, told


def test_a_node_that_lies_about_its_newest_slot_costs_no_block(empty_redis: None) -> None:
    with (
        running_localnet(LOCALNET_SLOT_MS=200, LOCALNET_SKIP_PERCENT=20) as localnet,
        lying_node(localnet) as (node, told),
    ):
        with following(node.url):
            wait(lambda: len(told) >= 14 and newest() >= 10, "lies, and blocks all the same")
        stopped_at = newest()
        slots = list(Block.objects.order_by("slot").values_list("slot", flat=True))
        listed = localnet.call("getBlocks", slots[0], stopped_at, {"commitment": "finalized"})
        assert slots == listed
    assert not list(LedgerGap.objects.values())
