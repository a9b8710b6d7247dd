"""The places of an address's transactions in the ledger, from both of its indexes: that of recent
slots and that of sealed ones.

A place is in one of them, or for a while in both. It moves in one commit, so reads that belong
together compare the version of what is sealed, and begin again behind the last place when it moved.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from eventloop.faces import complete
from historical.sealed.packed_index import (
    PLACE_BYTES,
    AddressIndex,
    DamagedBlock,
    Place,
    packed_place,
    place_of,
)
from historical.sealed.store import sealed_index, sealed_state
from historical.sealed.store.sealed_blocks import damaged
from historical.sealed.store.sealed_index import IndexBlock
from historical.sealed.store.sealed_state import Moved, Run
from historical.transactions import positions
from historical.transactions.positions import Following, LedgerPosition, ReadRows, Row
from historical.transactions.segments import MAX_POSITION
from historical.transactions.store import addresses as store

# The slots that an entry of the sealed index has room for.
HIGHEST_SEALED = 2**40 - 1
_MOST_RUNS_AT_ONCE = 64
# As Following, each made when it is wanted.
_Lazily = Callable[[], Coroutine[Any, Any, Iterable[LedgerPosition] | None]]


def newest_first(
    key: bytes, *, below: LedgerPosition, above: LedgerPosition
) -> Iterator[LedgerPosition]:
    """As anewest_first, place by place, in a thread."""
    return _each(anewest_first(key, below=below, above=above))


def oldest_first(
    key: bytes, *, above: LedgerPosition, below: LedgerPosition
) -> Iterator[LedgerPosition]:
    """The same, ascending."""
    return _each(
        _restarting(lambda last: _Walk(key, below, last, descending=False).following, above)
    )


def _each(following: Following) -> Iterator[LedgerPosition]:
    while (found := complete(following())) is not None:
        yield from found


def anewest_first(
    key: bytes, *, below: LedgerPosition, above: LedgerPosition, enough: int | None = None
) -> Following:
    """Places of the digest strictly between the two, descending. Where `enough` is named it may
    read no more than so many at once. Raises SealedDataDamaged.
    """
    return _restarting(
        lambda last: _Walk(key, last, above, descending=True, enough=enough).following, below
    )


def _restarting(begun: Callable[[LedgerPosition], Following], last: LedgerPosition) -> Following:
    """A walk that begins again behind its last place where what is sealed moved."""
    walk = begun(last)

    async def following() -> Sequence[LedgerPosition] | None:
        nonlocal walk, last
        while True:
            try:
                places = await walk()
            except Moved:
                walk = begun(last)
                continue
            if places:
                last = places[-1]
            return places

    return following


class _Cursor:
    """A walk's places one by one."""

    def __init__(self, following: _Lazily, first: Iterable[LedgerPosition] | None) -> None:
        self._following = following
        self._places = None if first is None else iter(first)

    async def next(self) -> LedgerPosition | None:
        """The next place; None at the end."""
        while self._places is not None:
            for place in self._places:
                return place
            found = await self._following()
            self._places = None if found is None else iter(found)
        return None


class _Walk:
    """A walk over both indexes, under one version."""

    def __init__(
        self,
        key: bytes,
        below: LedgerPosition,
        above: LedgerPosition,
        *,
        descending: bool,
        enough: int | None = None,
    ) -> None:
        self._key, self._below, self._above = key, below, above
        self._sign = -1 if descending else 1
        self._version: int | None = None
        if not descending:
            read = self._reading(store.entries_from)
            self._hot = positions.oldest_first(read, above=above, below=below)
        else:
            read = self._reading(
                store.entries_below
                if enough is None
                else partial(store.newest_entries, enough=enough)
            )
            self._hot = positions.newest_first(read, below=below, above=above, enough=enough)
        # Once it is known that something is sealed.
        self._recent: _Cursor | None = None
        self._nearest_recent: LedgerPosition | None = None
        self._waiting: list[Run] = []
        # (the order of the next place, the place, a number that makes it unique, the rest)
        self._heads: list[tuple[int, LedgerPosition, int, _Cursor]] = []
        self._opened = 0
        self._last: LedgerPosition | None = None

    async def following(self) -> Sequence[LedgerPosition] | None:
        """The next places of both, in order, each once. Raises Moved."""
        if self._recent is None:
            places = await self._hot()
            if not self._version:  # nothing is sealed
                return places
            self._recent = _Cursor(self._hot, places)
            self._nearest_recent = await self._recent.next()
            self._waiting = await self._runs()
        place = await self._merged(self._recent)
        return None if place is None else (place,)

    def _reading(self, entries: Callable[[bytes, int, int], Awaitable[store.Entries]]) -> ReadRows:
        async def read(bound: int, rows: int) -> list[Row]:
            version, found = await entries(self._key, bound, rows)
            if self._version is None:
                self._version = version
            elif version != self._version:
                raise Moved
            return found

        return read

    async def _merged(self, recent: _Cursor) -> LedgerPosition | None:
        while True:
            sealed = self._heads[0][1] if self._heads else None
            nearest = self._nearer(sealed, self._nearest_recent)
            waiting = self._waiting
            if waiting and (nearest is None or not self._is_before(nearest, waiting[0])):
                count = min(2 * self._opened + 1, _MOST_RUNS_AT_ONCE)
                for places in await self._open(waiting[:count]):
                    self._opened += 1
                    await self._push(places, self._opened)
                del waiting[:count]
                continue
            if nearest is None:
                return None
            if nearest == sealed:
                _, _, number, places = heapq.heappop(self._heads)
                await self._push(places, number)
            else:
                self._nearest_recent = await recent.next()
            if nearest != self._last:
                self._last = nearest
                return nearest

    async def _runs(self) -> list[Run]:
        """Those that reach between the places, the nearest first."""
        sealed = await sealed_state.aknown()
        if sealed.version != self._version:
            sealed = await sealed_state.anow()
            if sealed.version != self._version:
                raise Moved
        found = [
            run
            for run in sealed.address_runs
            if run.first_slot <= self._below.slot and run.last_slot >= self._above.slot
        ]
        if self._sign > 0:
            found.sort(key=lambda run: run.first_slot)
        return found

    def _is_before(self, place: LedgerPosition, run: Run) -> bool:
        """Whether the place comes before any of the run."""
        return place.slot > run.last_slot if self._sign < 0 else place.slot < run.first_slot

    def _nearer(
        self, one: LedgerPosition | None, other: LedgerPosition | None
    ) -> LedgerPosition | None:
        if one is None or other is None:
            return one or other
        return max(one, other) if self._sign < 0 else min(one, other)

    async def _push(self, places: _Cursor, number: int) -> None:
        place = await places.next()
        if place is not None:
            order = self._sign * (place.slot << 24 | place.position)
            heapq.heappush(self._heads, (order, place, number, places))

    async def _open(self, runs: Sequence[Run]) -> list[_Cursor]:
        """The places of each run; their first blocks are read in one statement."""
        assert self._version is not None
        low = self._key + _packed(self._above)
        if self._sign < 0:
            bound = self._key + _packed(self._below)
        else:  # that begins at the next place, or before it
            bound = self._key + _packed(self._above, step=1) + b"\0"
        firsts = await sealed_index.last_blocks_below(runs, bound, self._version)
        cursors = []
        for run in runs:
            places = _RunPlaces(self._key, run, self._version, self._below, self._above)
            places.next = firsts.get(run.id, None if self._sign < 0 else low)
            walk = places.newest if self._sign < 0 else places.oldest
            cursors.append(_Cursor(walk, ()))
        return cursors


class _RunPlaces:
    """The places of a key in a run, block by block. `next` is a block that was read, or the entry
    from which the next one is looked for; None at the end.
    """

    def __init__(
        self, key: bytes, run: Run, version: int, below: LedgerPosition, above: LedgerPosition
    ) -> None:
        self.next: IndexBlock | bytes | None = None
        self._key, self._run, self._version = key, run, version
        self._below, self._above = below, above

    async def newest(self) -> Iterator[LedgerPosition] | None:
        block = self.next
        if isinstance(block, bytes):
            found = await sealed_index.last_blocks_below([self._run], block, self._version)
            block = found.get(self._run.id)
        if block is None:
            return None
        places = self._places(block)
        start, end = bisect_right(places, self._above), bisect_left(places, self._below)
        is_last = start > 0 or not block.first_entry.startswith(self._key)
        self.next = None if is_last else block.first_entry
        return map(LedgerPosition._make, reversed(places[start:end]))

    async def oldest(self) -> Iterator[LedgerPosition] | None:
        block = self.next
        if isinstance(block, bytes):
            found = await sealed_index.first_blocks_above([self._run], block, self._version)
            block = found.get(self._run.id)
        if block is None or block.first_entry > self._key + b"\xff" * PLACE_BYTES:
            return None
        places = self._places(block)
        start, end = bisect_right(places, self._above), bisect_left(places, self._below)
        self.next = None if end < len(places) else block.first_entry
        return map(LedgerPosition._make, places[start:end])

    def _places(self, block: IndexBlock) -> list[Place]:
        run = self._run
        try:
            places = AddressIndex.places(block.block, self._key)
        except DamagedBlock as error:
            first = place_of(block.first_entry)
            what = f"a block of index run {run.id}, from {first}"
            raise damaged("index", run.id, what, error) from None
        return [place for place in places if run.counts(place[0])] if run.removed else places


def _packed(place: LedgerPosition, *, step: int = 0) -> bytes:
    """As an entry has it, for places beyond what it has room for too."""
    slot = min(max(place.slot, 0), HIGHEST_SEALED)
    position = 0 if place.slot < 0 else place.position
    if place.slot > HIGHEST_SEALED:
        position = MAX_POSITION
    packed = int.from_bytes(packed_place(slot, position)) + (step if place.slot >= 0 else 0)
    return min(packed, 2**64 - 1).to_bytes(PLACE_BYTES)
