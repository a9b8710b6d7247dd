"""The places of an address's transactions in the ledger, from both of its indexes: that of recent
slots and that of sealed ones.

A place is in one of them, or for a while in both. It moves in one commit, so reads that belong
together compare the version of what is sealed, and begin again behind the last place when it moved.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

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
from historical.transactions.positions import LedgerPosition, Row
from historical.transactions.segments import MAX_POSITION
from historical.transactions.store import addresses as store

# The slots that an entry of the sealed index has room for.
HIGHEST_SEALED = 2**40 - 1
_MOST_RUNS_AT_ONCE = 64


def newest_first(
    key: bytes, *, below: LedgerPosition, above: LedgerPosition, enough: int | None = None
) -> Iterator[LedgerPosition]:
    """Places of the digest strictly between the two, descending. Where `enough` is named it may
    read no more than so many at once. Raises SealedDataDamaged.
    """
    while True:
        walk = _Walk(key, below, above, descending=True)
        read = (
            walk.read(store.entries_below)
            if enough is None
            else walk.read(partial(_newest_entries, enough))
        )
        hot = positions.newest_first(read, below=below, above=above, enough=enough)
        try:
            for below in walk.merged(hot):
                yield below
            return
        except Moved:
            continue


def oldest_first(
    key: bytes, *, above: LedgerPosition, below: LedgerPosition
) -> Iterator[LedgerPosition]:
    """The same, ascending."""
    while True:
        walk = _Walk(key, below, above, descending=False)
        hot = positions.oldest_first(walk.read(store.entries_from), above=above, below=below)
        try:
            for above in walk.merged(hot):
                yield above
            return
        except Moved:
            continue


def _newest_entries(enough: int, key: bytes, slot: int, rows: int) -> store.Entries:
    return store.newest_entries(key, enough, slot, rows)


class _Walk:
    """A walk over both indexes, under one version."""

    def __init__(
        self, key: bytes, below: LedgerPosition, above: LedgerPosition, *, descending: bool
    ) -> None:
        self._key, self._below, self._above = key, below, above
        self._sign = -1 if descending else 1
        self._version: int | None = None

    def read(
        self, entries: Callable[[bytes, int, int], store.Entries]
    ) -> Callable[[int, int], list[Row]]:
        """A reader of rows, as ledger_positions wants it."""

        def read(bound: int, rows: int) -> list[Row]:
            version, found = entries(self._key, bound, rows)
            if self._version is None:
                self._version = version
            elif version != self._version:
                raise Moved
            return found

        return read

    def merged(self, hot: Iterator[LedgerPosition]) -> Iterator[LedgerPosition]:
        """The places of both, in order, each once. Raises Moved."""
        following = next(hot, None)
        if not self._version:
            yield from _chained(following, hot)
            return
        waiting = self._runs()
        # (the order of the next place, the place, a number that makes it unique, the rest)
        heads: list[tuple[int, LedgerPosition, int, Iterator[LedgerPosition]]] = []
        opened = 0
        last: LedgerPosition | None = None
        while heads or waiting or following is not None:
            sealed = heads[0][1] if heads else None
            nearest = self._nearer(sealed, following)
            if waiting and (nearest is None or not self._is_before(nearest, waiting[0])):
                count = min(2 * opened + 1, _MOST_RUNS_AT_ONCE)
                for places in self._open(waiting[:count]):
                    opened += 1
                    self._push(heads, places, opened)
                del waiting[:count]
                continue
            if nearest is None:
                return
            if nearest == sealed:
                _, _, number, places = heapq.heappop(heads)
                self._push(heads, places, number)
            else:
                following = next(hot, None)
            if nearest != last:
                yield nearest
            last = nearest

    def _runs(self) -> list[Run]:
        """Those that reach between the places, the nearest first."""
        sealed = sealed_state.known()
        if sealed.version != self._version:
            sealed = sealed_state.now()
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

    def _push(
        self,
        heads: list[tuple[int, LedgerPosition, int, Iterator[LedgerPosition]]],
        places: Iterator[LedgerPosition],
        number: int,
    ) -> None:
        place = next(places, None)
        if place is not None:
            order = self._sign * (place.slot << 24 | place.position)
            heapq.heappush(heads, (order, place, number, places))

    def _open(self, runs: Sequence[Run]) -> list[Iterator[LedgerPosition]]:
        """The places of each run; their first blocks are read in one statement."""
        assert self._version is not None
        if self._sign < 0:
            bound = self._key + _packed(self._below)
        else:  # that begins at the next place, or before it
            bound = self._key + _packed(self._above, step=1) + b"\0"
        firsts = sealed_index.last_blocks_below(runs, bound, self._version)
        walk = self._newest if self._sign < 0 else self._oldest
        return [walk(run, firsts.get(run.id)) for run in runs]

    def _newest(self, run: Run, block: IndexBlock | None) -> Iterator[LedgerPosition]:
        assert self._version is not None
        while block is not None:
            places = self._places(run, block)
            start = bisect_right(places, self._above)
            for number in range(bisect_left(places, self._below) - 1, start - 1, -1):
                yield LedgerPosition(*places[number])
            if start:
                return
            if not block.first_entry.startswith(self._key):
                return
            block = sealed_index.last_blocks_below([run], block.first_entry, self._version).get(
                run.id
            )

    def _oldest(self, run: Run, block: IndexBlock | None) -> Iterator[LedgerPosition]:
        assert self._version is not None
        last = self._key + b"\xff" * PLACE_BYTES
        after = self._key + _packed(self._above)
        while True:
            if block is not None:
                if block.first_entry > last:
                    return
                places = self._places(run, block)
                end = bisect_left(places, self._below)
                for number in range(bisect_right(places, self._above), end):
                    yield LedgerPosition(*places[number])
                if end < len(places):
                    return
                after = block.first_entry
            block = sealed_index.first_blocks_above([run], after, self._version).get(run.id)
            if block is None:
                return

    def _places(self, run: Run, block: IndexBlock) -> list[Place]:
        try:
            places = AddressIndex.places(block.block, self._key)
        except DamagedBlock as error:
            first = place_of(block.first_entry)
            what = f"a block of index run {run.id}, from {first}"
            raise damaged("index", run.id, what, error) from None
        return [place for place in places if run.counts(place[0])] if run.removed else places


def _chained(
    first: LedgerPosition | None, others: Iterator[LedgerPosition]
) -> Iterator[LedgerPosition]:
    if first is not None:
        yield first
        yield from others


def _packed(place: LedgerPosition, *, step: int = 0) -> bytes:
    """As an entry has it, for places beyond what it has room for too."""
    slot = min(max(place.slot, 0), HIGHEST_SEALED)
    position = 0 if place.slot < 0 else place.position
    if place.slot > HIGHEST_SEALED:
        position = MAX_POSITION
    packed = int.from_bytes(packed_place(slot, position)) + (step if place.slot >= 0 else 0)
    return min(packed, 2**64 - 1).to_bytes(PLACE_BYTES)
