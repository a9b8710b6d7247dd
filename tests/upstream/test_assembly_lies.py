"""The Assembler among lies: what cannot be is left out, and the honest stream goes on."""

import random
import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.units import Slot
from tests.examples import examples
from tests.upstream.stream_chain import random_chain
from upstream.geyser.assembly import Assembler
from upstream.geyser.events import Event, HeadMoved, SlotClosed, TooFarAhead
from upstream.geyser.updates import AccountUpdate, BlockMetaUpdate, SlotUpdate, Update
from upstream.head_bound import HeadBound
from upstream.protobuf.geyser_pb2 import SlotStatus

SEEDS = st.integers(0, 2**32)
SLOT_SECONDS = 0.4
EVERY_STATUS = SlotStatus.values()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fed(assembler: Assembler, messages: Iterable[Update]) -> list[Event]:
    return [event for message in messages for event in assembler.feed(message)]


def finalized(slot: int) -> SlotUpdate:
    return SlotUpdate(Slot(slot), Slot(slot - 1), SlotStatus.SLOT_FINALIZED)


def lie(chance: random.Random) -> Update:
    """A message of a slot that no chain has."""
    slot = Slot(chance.choice([2**63 - 5, 2**64 - 1, 2**40, 10**9, 10**6]) - chance.randrange(9))
    match chance.randrange(3):
        case 0:
            status = chance.choice(EVERY_STATUS)
            return SlotUpdate(slot, chance.choice([None, Slot(slot - 1), Slot(100)]), status)
        case 1:
            return BlockMetaUpdate(slot, Slot(slot - 1), "1" * 32, "", 0, (), b"lie")
        case _:
            return AccountUpdate(slot, bytes(32), chance.randrange(2**64), b"", b"lie")


@settings(max_examples=examples(60))
@given(SEEDS)
def test_lies_among_an_honest_stream_change_nothing_of_it(seed: int) -> None:
    chance = random.Random(seed)
    chain = random_chain(seed)
    honest = fed(Assembler(begin=chain.first), chain.sent)
    mixed: list[Update] = []
    for message in chain.sent:
        mixed += [lie(chance) for _ in range(chance.choice([0, 0, 1, 4]))]
        mixed.append(message)
    events = fed(Assembler(begin=chain.first), mixed)
    told = [event for event in events if isinstance(event, TooFarAhead)]
    assert [event for event in events if not isinstance(event, TooFarAhead)] == honest
    assert len(told) <= 1


def test_a_slot_of_2_to_the_63_is_told_once_and_counted() -> None:
    assembler = Assembler(begin=Slot(100), after_finalized=True)
    events = fed(assembler, [finalized(100), finalized(101)])
    events += fed(assembler, [finalized(2**63 - 5), finalized(2**63 - 4)])
    events += fed(assembler, [finalized(slot) for slot in range(102, 112)])
    assert [event for event in events if isinstance(event, TooFarAhead)] == [
        TooFarAhead(Slot(2**63 - 5))
    ]
    assert assembler.refused == 2
    assert HeadMoved(Slot(111), Slot(111)) in events
    assembler.reconnect()
    assert assembler.feed(finalized(2**63 - 5)) == [TooFarAhead(Slot(2**63 - 5))]


def test_a_flood_of_invented_slots_is_not_remembered_and_takes_the_head_nowhere() -> None:
    clock = Clock()
    chain = random_chain(5)
    assembler = Assembler(begin=chain.first, clock=clock)
    events = fed(assembler, chain.sent)
    head = next(event.head for event in reversed(events) if isinstance(event, HeadMoved))
    final = chain.final[-1].slot
    tracemalloc.start()
    try:
        for number in range(30_000):
            slot, parent = Slot(head + 1 + number), Slot(head + number)
            assembler.feed(SlotUpdate(slot, parent, SlotStatus.SLOT_PROCESSED))
            assembler.feed(AccountUpdate(slot, bytes(32), number, b"", b"x"))
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    # A hundred slots of the chain at its pace: it is at its head again, and final where it is.
    for number in range(1, 101):
        clock.now += SLOT_SECONDS
        slot = Slot(head + number)
        assembler.feed(SlotUpdate(slot, Slot(slot - 1), SlotStatus.SLOT_PROCESSED))
        events = assembler.feed(SlotUpdate(slot, Slot(slot - 1), SlotStatus.SLOT_CONFIRMED))
        events += assembler.feed(finalized(final + number))
    assert events[-1] == HeadMoved(Slot(head + 100), Slot(final + 100))
    assert not assembler.is_astray


def test_unfinalized_slots_are_bounded_even_where_any_slot_is_believed() -> None:
    bound = HeadBound()
    bound.expect(None, 0.0)
    assembler = Assembler(begin=Slot(100), bound=bound, clock=Clock(), most_unfinalized=500)
    tracemalloc.start()
    try:
        for number in range(10_000):
            assembler.feed(SlotUpdate(Slot(10**6 + number), Slot(10**6 + number - 1), 0))
            assembler.feed(AccountUpdate(Slot(10**6 + number), bytes(32), 1, b"", b"x"))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    # The chain's own slots are lower, and take the place of what was invented above them.
    chain = random_chain(7)
    events = fed(assembler, chain.sent)
    assert {event.closed.slot for event in events if isinstance(event, SlotClosed)}


@pytest.mark.parametrize("days", [0.01, 1.0, 30.0])
def test_a_follower_that_was_away_takes_the_chain_where_it_is_now(days: float) -> None:
    clock = Clock()
    assembler = Assembler(begin=Slot(100), clock=clock)
    fed(assembler, [finalized(slot) for slot in range(100, 140)])
    clock.now += 86_400 * days
    assembler.reconnect()
    head = 140 + int(86_400 * days / SLOT_SECONDS)
    events = fed(assembler, [SlotUpdate(Slot(head), Slot(head - 1), SlotStatus.SLOT_PROCESSED)])
    assert events == [HeadMoved(Slot(head), None)]


def test_who_believed_a_lie_finds_out() -> None:
    clock, bound = Clock(), HeadBound()
    bound.expect(10**9, 0.0)  # somebody said so
    assembler = Assembler(begin=Slot(100), bound=bound, clock=clock)
    fed(assembler, [finalized(10**9)])
    assert not assembler.is_astray
    for slot in range(100, 1_700):
        clock.now += SLOT_SECONDS
        assembler.feed(SlotUpdate(Slot(slot), Slot(slot - 1), SlotStatus.SLOT_PROCESSED))
    assert assembler.is_astray


def test_a_blockhash_of_a_megabyte_costs_nothing() -> None:
    assembler = Assembler(begin=Slot(100))
    for number in range(1_000):
        meta = BlockMetaUpdate(Slot(100), Slot(99), "2" * 1_000_000, "", number, (), b"x")
        assembler.feed(meta)
