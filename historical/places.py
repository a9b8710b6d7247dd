"""A transaction's place in the ledger, and the walk over an address's places."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import NamedTuple

from chain.units import I64_MAX
from historical.segments import MAX_POSITION, SEGMENT_SLOTS, segment_of, unpack_entries


class Place(NamedTuple):
    """(slot, position): the order of transactions in the ledger."""

    slot: int
    position: int


LOWEST = Place(-1, 0)
HIGHEST = Place(I64_MAX - 1, MAX_POSITION)

# Reads rows of the index from a slot on: (bound, number of rows) → [(first_slot, packed)].
ReadRows = Callable[[int, int], list[tuple[int, bytes]]]

_FIRST_READ = 8
_LONGEST_READ = 512


def newest_first(read_below: ReadRows, *, below: Place, above: Place) -> Iterator[Place]:
    """Places strictly between the two, descending; read_below: rows that begin below a slot."""
    bound = min(below.slot, I64_MAX - 1) + 1
    for segment, rows in groupby(_rows(read_below, bound, next_bound=0), key=_segment):
        if (segment + 1) * SEGMENT_SLOTS <= above.slot:
            return
        for place in sorted(_places(rows), reverse=True):
            if place <= above:
                return
            if place < below:
                yield place


def oldest_first(read_from: ReadRows, *, above: Place, below: Place) -> Iterator[Place]:
    """Places strictly between the two, ascending; read_from gives rows that begin at a slot or
    above it.
    """
    bound = segment_of(max(above.slot, 0)) * SEGMENT_SLOTS
    for segment, rows in groupby(_rows(read_from, bound, next_bound=1), key=_segment):
        if segment * SEGMENT_SLOTS > below.slot:
            return
        for place in sorted(_places(rows)):
            if place >= below:
                return
            if place > above:
                yield place


def _rows(read: ReadRows, bound: int, *, next_bound: int) -> Iterator[tuple[int, bytes]]:
    wanted = _FIRST_READ
    while True:
        rows = read(bound, wanted)
        yield from rows
        if len(rows) < wanted:
            return
        bound = rows[-1][0] + next_bound
        wanted = min(wanted * 4, _LONGEST_READ)


def _segment(row: tuple[int, bytes]) -> int:
    return segment_of(row[0])


def _places(rows: Iterator[tuple[int, bytes]]) -> Iterator[Place]:
    for first_slot, packed in rows:
        yield from (Place(*entry) for entry in unpack_entries(first_slot, packed))
