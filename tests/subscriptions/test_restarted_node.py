"""A node that is restarted and makes another block of a slot: what subscribers are sent of it."""

import random

import pytest

from livefeed.messages import Level
from livefeed.slots import LATE_SECONDS, SlotTracker
from tests.upstream.stream_chain import Leader, Made
from upstream.geyser.updates import AccountUpdate, SlotUpdate, Update
from upstream.protobuf.geyser_pb2 import SlotStatus


def taken(
    tracker: SlotTracker, connection: int, messages: list[Update], at: float
) -> list[tuple[int, Level, str, bool]]:
    """(slot, level, blockhash, whether all of it is there), as announced."""
    found = []
    for message in messages:
        tracker.take(connection, message, at, at)
        for slot, level in tracker.steps(at):
            found.append((slot.number, level, slot.best().blockhash, slot.was_whole))
    return found


def confirmed(made: Made) -> SlotUpdate:
    return SlotUpdate(made.slot, made.parent, SlotStatus.SLOT_CONFIRMED)


@pytest.mark.parametrize("came", [True, False])
def test_a_confirmed_slot_is_the_block_that_its_child_descends_from(came: bool) -> None:
    leader = Leader(random.Random(1))
    # The one that came first has more in it.
    before, after = (leader.block(100, 99, most_transactions=most) for most in (9, 0))
    child = leader.block(101, 100)
    tracker, chance = SlotTracker(), leader.chance
    found = taken(tracker, 0, before.messages(chance), 1.0)
    assert found == [(100, Level.PROCESSED, before.blockhash, True)]
    again = after.messages(chance) if came else []
    found = taken(tracker, 1, [*again, *child.messages(chance), confirmed(child)], 2.0)
    found += taken(tracker, 1, [confirmed(child)], 3.0 + LATE_SECONDS)
    wanted = (after.blockhash, True) if came else ("", False)
    assert (100, Level.CONFIRMED, *wanted) in found
    assert (101, Level.CONFIRMED, child.blockhash, True) in found
    assert not [each for each in found if each[2] == before.blockhash]


@pytest.mark.parametrize("is_checked", [True, False])
def test_an_account_write_that_is_missing_alone_is_named(is_checked: bool) -> None:
    leader = Leader(random.Random(3))
    made = leader.block(100, 99)
    lost = next(each for each in reversed(made.last_writes()) if each.signature)
    tracker = SlotTracker()
    tracker.checks_writes = is_checked
    kept = [
        each
        for each in made.messages(leader.chance)
        if not isinstance(each, AccountUpdate) or each.pubkey != lost.pubkey
    ]
    taken(tracker, 0, kept, 1.0)
    (slot,) = tracker.kept()
    assert slot.unwritten == ({lost.pubkey} if is_checked else set())
    assert slot.was_whole is not is_checked
