"""A transaction's place in the ledger, and the walk over an address's places."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from chain.units import I64_MAX
from historical.transactions.segments import (
    MAX_POSITION,
    SEGMENT_SLOTS,
    last_slot,
    segment_of,
    unpack_backwards,
    unpack_entries,
)


class LedgerPosition(NamedTuple):
    """(slot, position): the order of transactions in the ledger."""

    slot: int
    position: int


LOWEST = LedgerPosition(-1, 0)
HIGHEST = LedgerPosition(I64_MAX - 1, MAX_POSITION)

Row = tuple[int, bytes]
# Reads rows of the index from a slot on: (bound, number of rows) → [(first_slot, packed)].
ReadRows = Callable[[int, int], list[Row]]

_FIRST_READ = 8
_LONGEST_READ = 512


def newest_first(
    read_below: ReadRows, *, below: LedgerPosition, above: LedgerPosition, enough: int | None = None
) -> Iterator[LedgerPosition]:
    """Places strictly between the two, descending. read_below gives rows that begin below a slot;
    where `enough` is named it may stop with the segment in which so many entries are reached.
    """
    bound = min(below.slot, I64_MAX - 1) + 1
    for rows in _segments(read_below, bound, 0, enough):
        if (segment_of(rows[0][0]) + 1) * SEGMENT_SLOTS <= above.slot:
            return
        for place in _descending(rows):
            if place <= above:
                return
            if place < below:
                yield LedgerPosition(*place)


def oldest_first(
    read_from: ReadRows, *, above: LedgerPosition, below: LedgerPosition
) -> Iterator[LedgerPosition]:
    """Places strictly between the two, ascending; read_from gives rows that begin at a slot or
    above it.
    """
    bound = segment_of(max(above.slot, 0)) * SEGMENT_SLOTS
    for rows in _segments(read_from, bound, 1):
        if segment_of(rows[0][0]) * SEGMENT_SLOTS > below.slot:
            return
        for place in sorted(_places(rows)):
            if place >= below:
                return
            if place > above:
                yield place


def _segments(
    read: ReadRows, bound: int, next_bound: int, enough: int | None = None
) -> Iterator[list[Row]]:
    """The rows by segment, each as soon as it is known to be whole."""
    wanted = _FIRST_READ if enough is None else min(enough, _LONGEST_READ)
    held: list[Row] = []
    while True:
        rows = read(bound, wanted)
        for row in rows:
            if held and segment_of(row[0]) != segment_of(held[0][0]):
                yield held
                held = []
            held.append(row)
        if len(rows) < wanted:
            if held:
                yield held
                held = []
            if enough is None or sum(len(packed) for _, packed in rows) < 4 * enough:
                return
        bound = rows[-1][0] + next_bound
        wanted = min(wanted * 4, _LONGEST_READ)


def _descending(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """(slot, position) of a segment's rows, themselves descending. Only blocks that were stored out
    of order leave rows that overlap, which have to be sorted.
    """
    if any(last_slot(*older) >= newer[0] for newer, older in pairwise(rows)):
        yield from sorted(_places(rows), reverse=True)
        return
    for row in rows:
        yield from unpack_backwards(*row)


def _places(rows: Sequence[Row]) -> Iterator[LedgerPosition]:
    for first_slot, packed in rows:
        yield from (LedgerPosition(*entry) for entry in unpack_entries(first_slot, packed))
