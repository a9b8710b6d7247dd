"""Stakes that the followed node shows, around the end of an epoch."""

import contextlib
import urllib.request
from collections.abc import Iterator

import pytest

from ingest.services import node_stakes
from rewind.baselines.models import EpochStake
from tests.ingest.following import follower, wait, worker
from tests.ingest.stored_chain import archived_to
from tests.localnet_process import Localnet, running_localnet
from tests.priority.odd_nodes import odd_node
from upstream.node import Node


def epoch(localnet: Localnet) -> int:
    return int(localnet.call("getEpochInfo", {"commitment": "finalized"})["epoch"])


@contextlib.contextmanager
def going_on(localnet: Localnet) -> Iterator[str]:
    """localnet's node, which is in the next epoch when it is asked for its vote accounts."""

    def answer(body: bytes) -> tuple[int, bytes]:
        if b"getVoteAccounts" in body and not epoch(localnet):
            localnet.call("warpToEpoch", 1)
            wait(lambda: epoch(localnet) == 1, "the next epoch")
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(localnet.url, body, headers)) as found:
            return 200, found.read()

    with odd_node(answer) as node:
        yield node.url


@pytest.mark.django_db(transaction=True)
def test_stakes_of_another_epoch_are_not_kept(empty_redis: None) -> None:
    with running_localnet(LOCALNET_SLOT_MS=40) as localnet:
        with worker(), follower(localnet.geyser_url, localnet.url):
            archived_to(5)
        assert node_stakes.is_due()
        with going_on(localnet) as url:
            node_stakes.learn(Node(url, timeout_seconds=60.0))
        assert epoch(localnet) == 1
        assert not EpochStake.objects.exists()
        assert node_stakes.is_due()
        with worker(), follower(localnet.geyser_url, localnet.url):
            archived_to(8_645)
        node_stakes.learn(Node(localnet.url, timeout_seconds=60.0))
    assert {each.epoch for each in EpochStake.objects.all()} == {1, 2}
