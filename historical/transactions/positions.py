"""A transaction's place in the ledger, and the walk over an address's places."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from chain.units import I64_MAX
from historical.transactions.segments import (
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


# Takes a third of the time of a call of the class.
_as_position: Callable[[tuple[int, int]], LedgerPosition] = partial(tuple.__new__, LedgerPosition)

LOWEST = LedgerPosition(-1, 0)

Row = tuple[int, bytes]
# Reads rows of the index from a slot on: (bound, number of rows) → [(first_slot, packed)].
ReadRows = Callable[[int, int], Awaitable[list[Row]]]
# The next places of a walk, some at once, in its order; None at its end.
Following = Callable[[], Coroutine[Any, Any, Sequence[LedgerPosition] | None]]

_FIRST_READ = 8
_LONGEST_READ = 512


def newest_first(
    read_below: ReadRows, *, below: LedgerPosition, above: LedgerPosition, enough: int | None = None
) -> Following:
    """Places strictly between the two, descending. read_below gives rows that begin below a slot;
    where `enough` is named it may stop with the segment in which so many entries are reached.
    """
    segments = _Segments(read_below, min(below.slot, I64_MAX - 1) + 1, 0, enough)
    unpacked: Iterator[list[LedgerPosition]] = iter(())

    async def following() -> list[LedgerPosition] | None:
        nonlocal unpacked
        while (places := next(unpacked, None)) is None:
            rows = await segments.following()
            if rows is None or (segment_of(rows[0][0]) + 1) * SEGMENT_SLOTS <= above.slot:
                return None
            if rows[-1][0] <= above.slot:
                segments.end()
            unpacked = _descending_between(rows, below, above)
        return places

    return following


def _descending_between(
    rows: Sequence[Row], below: LedgerPosition, above: LedgerPosition
) -> Iterator[list[LedgerPosition]]:
    for places in _descending(rows):
        if places[0] >= below or places[-1] <= above:
            places = [place for place in places if above < place < below]
        yield [*map(_as_position, places)]


def oldest_first(read_from: ReadRows, *, above: LedgerPosition, below: LedgerPosition) -> Following:
    """Places strictly between the two, ascending; read_from gives rows that begin at a slot or
    above it.
    """
    segments = _Segments(read_from, segment_of(max(above.slot, 0)) * SEGMENT_SLOTS, 1, None)

    async def following() -> list[LedgerPosition] | None:
        rows = await segments.following()
        if rows is None or segment_of(rows[0][0]) * SEGMENT_SLOTS > below.slot:
            return None
        places = sorted(_entries(rows))
        if places[-1] >= below:
            segments.end()
        between = places[bisect_right(places, above) : bisect_left(places, below)]
        return [*map(_as_position, between)]

    return following


class _Segments:
    """The rows by segment, each as soon as it is known to be whole."""

    def __init__(self, read: ReadRows, bound: int, next_bound: int, enough: int | None) -> None:
        self._read = read
        self._bound, self._next_bound, self._enough = bound, next_bound, enough
        self._wanted = _FIRST_READ if enough is None else min(enough, _LONGEST_READ)
        self._whole: deque[list[Row]] = deque()
        self._held: list[Row] = []
        self._is_read = False

    async def following(self) -> list[Row] | None:
        while not self._whole and not self._is_read:
            await self._read_more()
        return self._whole.popleft() if self._whole else None

    def end(self) -> None:
        """Of the segments after the last one nothing is wanted."""
        self._is_read = True
        self._whole.clear()

    async def _read_more(self) -> None:
        rows, enough = await self._read(self._bound, self._wanted), self._enough
        for row in rows:
            if self._held and segment_of(row[0]) != segment_of(self._held[0][0]):
                self._let_go()
            self._held.append(row)
        if len(rows) < self._wanted:
            self._let_go()
            if enough is None or sum(len(packed) for _, packed in rows) < 4 * enough:
                self._is_read = True
                return
        self._bound = rows[-1][0] + self._next_bound
        self._wanted = min(self._wanted * 4, _LONGEST_READ)

    def _let_go(self) -> None:
        if self._held:
            self._whole.append(self._held)
            self._held = []


def _descending(rows: Sequence[Row]) -> Iterator[list[tuple[int, int]]]:
    """(slot, position) of a segment's rows, themselves descending, some at a time. Only blocks that
    were stored out of order leave rows that overlap, which have to be sorted.
    """
    if any(last_slot(*older) >= newer[0] for newer, older in pairwise(rows)):
        yield sorted(_entries(rows), reverse=True)
        return
    for row in rows:
        yield from unpack_backwards(*row)


def _entries(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    for row in rows:
        yield from unpack_entries(*row)
