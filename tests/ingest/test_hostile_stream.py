"""The follower on a stream that lies, explodes and ages stores localnet's chain all the same."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ingest.follower_state import published
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import (
    archived_to,
    is_localnets_chain,
    newest_archived,
    no_open_gaps,
)
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.upstream.hostile import relay
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=10) as running:
        yield running


def slot_update(slot: int, status: int) -> bytes:
    update = schema.SubscribeUpdate()
    update.slot.slot, update.slot.parent, update.slot.status = slot, slot - 1, status
    return bytes(update.SerializeToString())


def block(slot: int) -> bytes:
    update = schema.SubscribeUpdate()
    meta = update.block_meta
    meta.slot, meta.parent_slot, meta.blockhash = slot, slot - 1, "1" * 32
    return bytes(update.SerializeToString())


def lies(count: int) -> list[bytes]:
    """Messages of slots that this chain has not reached."""
    finalized = int(schema.SlotStatus.SLOT_FINALIZED)
    far = [2**63 - 5, 2**64 - 1, 2**40, 10**9, 10**7]
    found = [slot_update(slot, status) for slot in far for status in (0, finalized)]
    found += map(block, far)
    return [found[number % len(found)] for number in range(count)]


def test_lies_among_the_messages_leave_no_trace(localnet: Localnet) -> None:
    sent = 0

    def twist(_number: int, message: bytes) -> Iterator[bytes]:
        nonlocal sent
        yield message
        if sent < 3_000:
            yield from lies(30)
            sent += 30

    with relay(localnet.geyser_url, twist) as (url, asked), worker():
        with follower(url, localnet.url) as following:
            archived_to(localnet.call("getSlot") + 20)
            wait(lambda: sent >= 3_000, "the lies")
            archived_to(localnet.call("getSlot") + 5)
            state = published()
            assert not following.failure
        assert len(asked) == 1
    assert state is not None
    assert state.head_slot <= localnet.call("getSlot", {"commitment": "processed"}) + 2
    assert no_open_gaps()
    is_localnets_chain(localnet)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: [bytes(70_000_000)],  # above the bound
        lambda: [slot_update(2**63, 2)] * 10,
        # After a message that is none of the protocol it waits for a quarter of a minute.
        pytest.param(lambda: [b"\xff" * 100], marks=pytest.mark.soak),
    ],
    ids=["explosion", "lies", "garbage"],
)
def test_a_bad_beginning_is_followed_by_a_good_stream(
    localnet: Localnet, bad: Callable[[], list[bytes]]
) -> None:
    def twist(number: int, message: bytes) -> Iterator[bytes]:
        if number < 2:
            yield from bad()
        yield message

    options: list[tuple[str, Any]] = [("grpc.max_send_message_length", -1)]
    with (
        relay(localnet.geyser_url, twist, options=options) as (url, _),
        worker(),
        follower(url, localnet.url) as following,
    ):
        archived_to(localnet.call("getSlot") + 5)
        assert not following.failure
    assert no_open_gaps()
    is_localnets_chain(localnet)


def test_a_server_that_ages_its_connections_costs_no_slot(localnet: Localnet) -> None:
    def as_it_is(_number: int, message: bytes) -> Iterator[bytes]:
        yield message

    options = [("grpc.max_connection_age_ms", 400), ("grpc.max_connection_age_grace_ms", 300)]
    with relay(localnet.geyser_url, as_it_is, options=options) as (url, asked), worker():
        with follower(url, localnet.url) as following:
            wait(lambda: len(asked) >= 4, "connections that end by age")
            archived_to(newest_archived() + 5)
            assert not following.failure
            assert "not HTTP/2" not in following.sender.state.problem
        with follower(localnet.geyser_url, localnet.url):
            archived_to(localnet.call("getSlot") + 5)
    assert no_open_gaps()
    is_localnets_chain(localnet)
