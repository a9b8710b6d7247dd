"""The feed that localnet's streaming servers read: order, overflow, and what it remembers."""

import asyncio
import tracemalloc

import pytest

from chain.accounts import AccountWrite
from chain.units import Slot
from localnet.faults import Faults
from localnet.feed import (
    AccountWritten,
    Feed,
    Lagged,
    SlotChanged,
    SlotStatus,
    slot_of,
)

PUBKEY = bytes(31) + b"\x01"


def happened(slot: int, status: SlotStatus = SlotStatus.PROCESSED) -> SlotChanged:
    return SlotChanged(Slot(slot), Slot(slot - 1), status)


def test_a_subscriber_gets_what_happens_after_it_came_in_order() -> None:
    async def listen() -> list[object]:
        feed = Feed(Faults())
        feed.publish(happened(1))
        subscription = feed.subscribe()
        for slot in (2, 3):
            feed.publish(happened(slot))
        got = [await anext(subscription) for _ in range(2)]
        waiting = asyncio.ensure_future(anext(subscription))
        await asyncio.sleep(0)
        assert not waiting.done()
        feed.publish(happened(4))
        return [*got, await waiting]

    assert asyncio.run(listen()) == [happened(2), happened(3), happened(4)]


def test_a_subscriber_that_does_not_read_is_told_that_it_lagged() -> None:
    async def lag() -> None:
        feed = Feed(Faults())
        slow, quick = feed.subscribe(limit=2), feed.subscribe()
        for slot in (1, 2, 3):
            feed.publish(happened(slot))
        with pytest.raises(Lagged):
            await anext(slow)
        assert [await anext(quick) for _ in range(3)] == [happened(1), happened(2), happened(3)]

    asyncio.run(lag())


def test_what_waits_can_be_taken_at_once() -> None:
    async def take() -> None:
        feed = Feed(Faults())
        subscription = feed.subscribe()
        assert subscription.take() == []
        for slot in (1, 2, 3):
            feed.publish(happened(slot))
        assert await anext(subscription) == happened(1)
        assert subscription.take() == [happened(2), happened(3)]
        assert subscription.take() == []

    asyncio.run(take())


def test_a_closed_subscription_takes_nothing_more() -> None:
    async def close() -> None:
        feed = Feed(Faults())
        closed, other = feed.subscribe(limit=1), feed.subscribe()
        closed.close()
        feed.publish(happened(1))
        feed.publish(happened(2))
        assert await anext(other) == happened(1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(closed), 0.01)

    asyncio.run(close())


def test_a_replay_has_each_remembered_slot_with_all_that_happened_in_it() -> None:
    feed = Feed(Faults(replay_slots=3))
    assert feed.first_available is None
    for slot in range(1, 6):
        feed.publish(happened(slot))
        if slot > 1:
            feed.publish(happened(slot - 1, SlotStatus.CONFIRMED))
    assert feed.first_available == 3
    confirmed = SlotStatus.CONFIRMED
    assert feed.replay(Slot(4)) == [happened(4), happened(4, confirmed), happened(5)]
    assert feed.replay(Slot(6)) == []


def test_older_slots_are_replayed_whole_and_take_little_memory() -> None:
    feed = Feed(Faults(replay_slots=200))
    tracemalloc.start()
    for slot in range(1, 201):
        # As the history of slots, which every block writes.
        data = bytes(100_000) + slot.to_bytes(8, "little")
        write = AccountWrite(
            pubkey=PUBKEY,
            lamports=1,
            owner=PUBKEY,
            executable=False,
            rent_epoch=0,
            data=data,
            write_version=slot,
            signature=None,
        )
        feed.publish(AccountWritten(Slot(slot), write))
        feed.publish(happened(slot))
    held, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for slot in range(1, 201):
        feed.publish(happened(slot, SlotStatus.FINALIZED))
    found = feed.replay(Slot(1))
    assert held < 5_000_000
    kinds = [type(each) for each in found]
    assert kinds == [AccountWritten, SlotChanged, SlotChanged] * 200
    assert [slot_of(each) for each in found[::3]] == list(range(1, 201))
    for each in found[::3]:
        assert isinstance(each, AccountWritten)
        assert each.write.data[-8:] == each.slot.to_bytes(8, "little")
    assert found[2::3] == [happened(slot, SlotStatus.FINALIZED) for slot in range(1, 201)]


def test_a_late_status_does_not_bring_a_forgotten_slot_back() -> None:
    feed = Feed(Faults(replay_slots=2))
    for slot in (1, 2, 3):
        feed.publish(happened(slot))
    feed.publish(happened(1, SlotStatus.FINALIZED))
    assert feed.first_available == 2


def test_the_memory_shrinks_when_the_fault_says_so() -> None:
    faults = Faults()
    feed = Feed(faults)
    for slot in (1, 2, 3):
        feed.publish(happened(slot))
    faults.replay_slots = 1
    assert feed.first_available == 3
    assert feed.replay(Slot(0)) == [happened(3)]
