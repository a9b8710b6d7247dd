"""What one reception of a slot lacks, its replay or another stream has: nothing is lost."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ingest.errors import ChainBroken
from ingest.sources import streams
from rewind.models import ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.ingest.following import Following, follower, worker
from tests.ingest.stored_chain import (
    archived_to,
    is_localnets_chain,
    newest_archived,
    no_open_gaps,
)
from tests.ingest.test_follow import airdrops
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.upstream.hostile import Twist, relay
from upstream.grpc import status as codes
from upstream.grpc.status import GrpcStatus
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=60, LOCALNET_SKIP_PERCENT=10) as running:
        yield running


def whole_chain(localnet: Localnet, following: Following) -> None:
    """What was finalized by now is stored, without a gap, by the follower alone."""
    archived_to(localnet.call("getSlot") + 5)
    wait(no_open_gaps, "every gap filled")
    assert not following.failure
    is_localnets_chain(localnet)


@pytest.mark.parametrize(
    "last_writes",
    [
        pytest.param(False, id="every write"),
        pytest.param(True, id="last writes", marks=pytest.mark.soak),
    ],
)
def test_loss_that_a_replay_of_150_slots_makes_good(localnet: Localnet, last_writes: bool) -> None:
    localnet.call("setFaults", {"replaySlots": 150, "replayLastWrites": last_writes})
    with worker(), follower(localnet.geyser_url, localnet.url) as following:
        # Of what a chain starts with nothing may be lost: no transaction tells that it is there.
        # Nor of those up to eight above the head, which count as replayed and are asked for once.
        archived_to(0)
        archived_to(localnet.call("getSlot", {"commitment": "processed"}) + 8)
        localnet.call("setFaults", {"losePercent": 4})
        for _ in range(5):
            airdrops(localnet, 4)
            archived_to(newest_archived() + 20)
        wait(lambda: ArchiveGap.objects.exists(), "a slot that came short")
        localnet.call("setFaults", {"losePercent": 0})
        whole_chain(localnet, following)
    assert not ArchiveGap.objects.filter(tries__gt=0).exists()


def as_it_is(_number: int, message: bytes) -> Iterator[bytes]:
    yield message


def omits(thirds: set[int]) -> Twist:
    """Leaves writes of some accounts out, live and in its replay."""

    def twist(_number: int, message: bytes) -> Iterator[bytes]:
        update = schema.SubscribeUpdate.FromString(message)
        pubkey = update.account.account.pubkey
        if not pubkey or update.account.slot < 5 or sum(pubkey) % 3 not in thirds:
            yield message

    return twist


def is_cut(_number: int, message: bytes) -> Iterator[bytes]:
    """Ends in every eighth slot."""
    update = schema.SubscribeUpdate.FromString(message)
    if update.WhichOneof("update_oneof") == "slot" and update.slot.slot % 8 == 7:
        raise GrpcStatus(codes.UNAVAILABLE, "cut")
    yield message


def lags(_number: int, message: bytes) -> Iterator[bytes]:
    threading.Event().wait(0.02)
    yield message


@pytest.mark.parametrize("bad", [omits({0, 1, 2}), is_cut, lags], ids=["omits", "cut", "lags"])
@pytest.mark.parametrize(
    "is_first", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["first", "second"]
)
def test_one_of_two_streams_is_enough(localnet: Localnet, bad: Twist, is_first: bool) -> None:
    with relay(localnet.geyser_url, bad) as (url, asked), worker():
        urls = [url, localnet.geyser_url] if is_first else [localnet.geyser_url, url]
        with follower(urls[0], localnet.url, *urls[1:]) as following:
            airdrops(localnet, 5)
            wait(lambda: asked, "the stream that is bad")
            archived_to(localnet.call("getSlot") + 20)
            whole_chain(localnet, following)
    assert not ArchivedSlot.objects.exclude(granularity=0).exists()


def of_another_validator(_number: int, message: bytes) -> Iterator[bytes]:
    """As `omits({1})`, of a process that has counted its writes otherwise."""
    for each in omits({1})(_number, message):
        update = schema.SubscribeUpdate.FromString(each)
        if update.HasField("account"):
            info = update.account.account
            info.write_version = 7 + 3 * info.write_version
        yield update.SerializeToString()


def test_two_streams_make_one_whole_slot(localnet: Localnet) -> None:
    with (
        relay(localnet.geyser_url, omits({0})) as (one, _),
        relay(localnet.geyser_url, of_another_validator) as (other, _),
        worker(),
        follower(one, localnet.url, other) as following,
    ):
        airdrops(localnet, 5)
        archived_to(localnet.call("getSlot") + 20)
        whole_chain(localnet, following)


def test_a_stream_that_goes_for_good_costs_nothing(localnet: Localnet) -> None:
    with worker(), relay(localnet.geyser_url, as_it_is) as (other, _):
        with relay(localnet.geyser_url, as_it_is) as (one, asked):
            with_both = follower(one, localnet.url, other)
            following = with_both.__enter__()
            wait(lambda: asked, "both streams")
            archived_to(localnet.call("getSlot") + 5)
        try:
            localnet.call("setFaults", {"replaySlots": 1})
            whole_chain(localnet, following)
            wait(lambda: following.sender.state.streams_connected == 1, "one stream is gone")
        finally:
            with_both.__exit__(None, None, None)


def test_a_stream_of_another_chain_is_left_out(localnet: Localnet) -> None:
    with running_localnet(LOCALNET_SLOT_MS=60, LOCALNET_SKIP_PERCENT=10) as other, worker():
        other.wait_for_slot(5)
        with follower(localnet.geyser_url, localnet.url, other.geyser_url) as following:
            wait(lambda: "another chain" in following.sender.state.problem, "it is refused")
            whole_chain(localnet, following)
            assert "stream 2" in following.sender.state.problem


def test_a_chain_whose_every_stream_is_another_is_refused(localnet: Localnet) -> None:
    with running_localnet(LOCALNET_SLOT_MS=60, LOCALNET_SKIP_PERCENT=10) as other, worker():
        other.wait_for_slot(5)
        urls = other.geyser_url, other.geyser_url
        with follower(urls[0], localnet.url, urls[1]) as following:
            wait(lambda: following.failure, "a refusal")
    assert isinstance(following.failure[0], ChainBroken)
    assert newest_archived() == -1


def test_each_address_has_the_one_token_or_its_own(settings: Any) -> None:
    settings.UPSTREAM_GEYSER_URL = "https://a.example/key,https://b.example:10,https://b.example:10"
    settings.UPSTREAM_GEYSER_TOKEN = "one"
    found = [(each.name, each.url, each.token) for each in streams()]
    assert found == [
        ("stream of a.example", "https://a.example/key", "one"),
        ("stream of b.example:10", "https://b.example:10", "one"),
    ]
    settings.UPSTREAM_GEYSER_TOKEN = "one,two,two"
    assert [each.token for each in streams()] == ["one", "two"]
    settings.UPSTREAM_GEYSER_URL = ""
    assert streams() == []
