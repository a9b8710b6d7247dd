"""The address index's packing, and the walk over it, against plain lists."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from chain.units import I64_MAX
from eventloop.faces import complete
from historical.transactions.positions import LOWEST, LedgerPosition, newest_first, oldest_first
from historical.transactions.segments import (
    MAX_POSITION,
    SEGMENT_SLOTS,
    pack_entries,
    segment_of,
    unpack_backwards,
    unpack_entries,
)

places = st.lists(
    st.tuples(st.integers(0, 5 * SEGMENT_SLOTS), st.integers(0, 2**24 - 1)), unique=True
)
place = st.builds(LedgerPosition, st.integers(-1, 6 * SEGMENT_SLOTS), st.integers(0, 2**24 - 1))


def listed(following):
    """All places of a walk."""

    found = []
    while (places := complete(following())) is not None:
        found += places
    return found


def rows_of(entries, splits):
    """Rows as batches write them: slots of a segment spread over several rows in any order."""
    rows = {}
    for slot, position in entries:
        part = splits[slot % len(splits)]
        rows.setdefault((segment_of(slot), part), []).append((slot, position))
    packed = {}
    for members in rows.values():
        members.sort()
        packed[members[0][0]] = pack_entries(members[0][0], members)
    return packed


@given(entries=places, splits=st.lists(st.integers(0, 3), min_size=1, max_size=7), low=place,
       high=place)  # fmt: skip
def test_a_walk_gives_exactly_the_places_between_its_ends(entries, splits, low, high):
    rows = rows_of(entries, splits)

    async def below(bound, count):
        return [(slot, rows[slot]) for slot in sorted(rows, reverse=True) if slot < bound][:count]

    async def from_(bound, count):
        return [(slot, rows[slot]) for slot in sorted(rows) if slot >= bound][:count]

    async def cut(bound, count):
        """Whole segments, until five entries are reached."""
        found, reached, last = [], 0, None
        for slot, packed in await below(bound, count):
            if reached >= 5 and segment_of(slot) != last:
                break
            found.append((slot, packed))
            reached, last = reached + len(packed) // 4, segment_of(slot)
        return found

    for under, over in ((high, low), (LedgerPosition(I64_MAX - 1, MAX_POSITION), LOWEST)):
        wanted = sorted(
            LedgerPosition(*entry) for entry in entries if over < LedgerPosition(*entry) < under
        )
        assert listed(oldest_first(from_, above=over, below=under)) == wanted
        assert listed(newest_first(below, below=under, above=over)) == wanted[::-1]
        assert listed(newest_first(cut, below=under, above=over, enough=5)) == wanted[::-1]


@given(st.integers(0, 2**40), st.sets(
    st.tuples(st.integers(0, SEGMENT_SLOTS - 1), st.integers(0, 2**24 - 1))))  # fmt: skip
def test_packed_entries_read_back(first, offsets):
    entries = sorted((first + slot, position) for slot, position in offsets)
    packed = pack_entries(first, entries)
    assert unpack_entries(first, packed) == entries
    assert [*chain(*unpack_backwards(first, packed))] == entries[::-1]
