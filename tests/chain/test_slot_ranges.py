"""Slot ranges against plain sets, and parent links against a chain that is known whole."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chain.slot_ranges import SlotRange, between, clip, runs, subtract, union

ENDS = st.tuples(st.integers(0, 60), st.integers(0, 60))
RANGES = st.lists(ENDS.map(lambda ends: SlotRange(*ends)), max_size=8)


def slots(ranges):
    return {slot for first, last in ranges for slot in range(first, last + 1)}


def is_tidy(ranges):
    return all(a.last + 1 < b.first for a, b in pairwise(ranges))


@given(RANGES, RANGES, ENDS)
def test_ranges_do_what_sets_do(left, right, window):
    assert slots(union(left)) == slots(left)
    assert slots(subtract(left, right)) == slots(left) - slots(right)
    assert slots(clip(left, *window)) == slots(left) & slots([SlotRange(*window)])
    assert sum(each.size for each in union(left)) == len(slots(left))
    assert runs(slots(left)) == union(left)
    assert is_tidy(union(left))
    assert is_tidy(subtract(left, right))
    assert all(each.size > 0 for each in [*union(left), *subtract(left, right)])


def classified(first, last, blocks):
    """The window's slots without a block by the links of (slot, parent), ascending by slot."""
    skipped, missing, unknown = [], [], []
    below = first - 1
    for slot, parent in blocks:
        if slot > below:
            fates = between(below, slot, parent)
            skipped += fates.skipped
            missing += fates.missing
            unknown += fates.unknown
        below = max(below, slot)
    if below < last:
        unknown.append(SlotRange(below + 1, last))
    lists = (union(clip(ranges, first, last)) for ranges in (skipped, missing, unknown))
    return tuple(lists)


@st.composite
def chains(draw):
    """A chain from slot 0 on: the slots with a block, and those of them that we have."""
    made = draw(st.sets(st.integers(1, 50), min_size=1))
    return sorted(made), draw(st.sets(st.sampled_from(sorted(made)))), draw(ENDS)


@given(chains())
def test_links_prove_what_is_true_and_leave_the_rest_open(chain):
    made, have, (first, last) = chain
    parents = dict(zip(made, [0, *made], strict=False))
    blocks = [(slot, parents[slot]) for slot in sorted(have) if slot >= first]
    fates = classified(first, last, blocks)
    window = set(range(first, last + 1))
    skipped, missing, unknown = (slots(ranges) for ranges in fates)
    assert skipped | missing | unknown == window - have
    assert len(skipped) + len(missing) + len(unknown) == len(window - have)
    assert not skipped & set(made)
    assert missing <= {0, *made} - have
    # Everything that parent links prove is classified.
    linked = {slot for block, parent in blocks for slot in range(parent + 1, block)}
    assert skipped == linked & window
    assert missing == {parent for _, parent in blocks} & (window - have)
    assert all(map(is_tidy, fates))


def test_the_slots_between_two_blocks():
    assert between(10, 15, 10) == ([SlotRange(11, 14)], [], [])
    assert between(10, 15, 13) == (
        [SlotRange(14, 14)],
        [SlotRange(13, 13)],
        [SlotRange(11, 12)],
    )
    assert between(10, 11, 10) == ([], [], [])


def test_a_window_that_ends_before_it_begins_has_no_slots():
    assert clip([SlotRange(5, 9)], 9, 5) == []
    assert between(9, 5, 4) == ([], [], [])
