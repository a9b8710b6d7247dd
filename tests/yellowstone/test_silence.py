"""A chain that sends nothing: streams end with the reason, and health says so."""

import signal

import grpc
import pytest

from historical.blocks.services.bounds import newest_slot_or_none
from tests.patience import wait
from tests.yellowstone.conftest import Geyser, Request
from upstream.protobuf import geyser_pb2 as schema

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]


def test_a_silent_stream_ends_those_that_hear_it_as_unavailable(geyser: Geyser) -> None:
    process = geyser.localnet.process
    assert process is not None
    slots = Request(slots={"all": schema.SubscribeRequestFilterSlots()})
    with geyser.subscribed(slots) as hearing, geyser.subscribed(Request(ping={"id": 1})) as other:
        hearing.until(lambda update: update.HasField("slot"))
        process.send_signal(signal.SIGSTOP)
        try:
            refusal = hearing.refusal()
            with geyser.subscribed(slots) as late:
                assert late.refusal().details().startswith("chain_not_followed")
            assert not geyser.is_fed()
            # One with from_slot is sent what is stored, to the last slot, and waits.
            last = newest_slot_or_none()
            assert last is not None
            past = Request(blocks_meta={"all": {}}, from_slot=last - 2)
            with geyser.subscribed(past) as stored:
                found = stored.until(lambda update: update.block_meta.slot == last)
            assert [each.block_meta.slot for each in found] == [last - 2, last - 1, last]
        finally:
            process.send_signal(signal.SIGCONT)
        assert refusal.code() is grpc.StatusCode.UNAVAILABLE
        assert refusal.details().startswith("stream_silent: nothing of the chain arrives")
        # One that asked for nothing of the chain stays, and may ask once slots come again.
        wait(geyser.is_fed, "hearing of the chain again")
        other.send(slots)
        other.until(lambda update: update.HasField("slot"))
