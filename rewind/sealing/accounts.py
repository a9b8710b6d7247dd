"""Some accounts of a block, decoded: their keys at once, their values when they are asked for."""

from collections.abc import Iterator
from functools import partial
from itertools import accumulate, chain

import numpy as np

from rewind.sealing.changes import MAX_DATA, BlockDamaged, Change
from rewind.sealing.columns import Column, Signed, Unsigned, unzigzag
from rewind.sealing.content import (
    EXECUTABLE,
    I32_MAX,
    I64_MAX,
    KIND,
    LAMPORTS,
    LOWEST_POSITION,
    OWNER,
    RENT,
    SIZE,
    Content,
)
from rewind.sealing.differences import apply

_ONE = np.uint64(1)
_change = partial(tuple.__new__, Change)


class Accounts:
    """One account or several that lie together, with all of their changes, counted from 0 on."""

    def __init__(self, content: Content, first: int, before: int, ends: list[int]) -> None:
        """From the account of the number `first` on, whose changes begin at `before` and end at
        `ends`, in the block.
        """
        self._content, self._first, self._before = content, first, before
        self._ends = [each - before for each in ends]
        self._begins = [0, *self._ends[:-1]]
        self._counts = list(map(int.__sub__, self._ends, self._begins))
        self._count = self._ends[-1]
        end = self._end = before + self._count
        self._flags = content.flags.octets()
        steps = content.steps.part(before, end)
        self._slots = self._sums(steps, content.slots).view(np.int64) + content.lowest
        most = I32_MAX - LOWEST_POSITION
        self._positions = content.positions.small(before, end, most) + LOWEST_POSITION

    def keys(self) -> list[tuple[int, int]]:
        """(slot, position) of each change."""
        return list(zip(self._slots.tolist(), self._positions.tolist(), strict=True))

    def after(self, slot: int, position: int) -> int:
        """The number of the only account's first change after (slot, position)."""
        if not 0 <= slot <= I64_MAX:
            return 0 if slot < 0 else self._count
        slots, positions = self._slots, self._positions
        number = int(slots.searchsorted(slot, "right"))
        while number and slots[number - 1] == slot and positions[number - 1] > position:
            number -= 1
        return number

    def changes(self, pubkeys: Iterator[bytes], since: int, until: int) -> Iterator[Change]:
        """Of a single account some changes, at least one; of several all.

        `pubkeys` are those of the changes.
        """
        content, part = self._content, slice(since, until)
        flags = self._flags[self._before + since : self._before + until]
        rents = self._held(content.rents, content.new_rents, RENT) - _ONE
        owners = self._held(content.owners, content.new_owners, OWNER)
        values = zip(
            pubkeys,
            self._slots[part].tolist(),
            self._positions[part].tolist(),
            (flags & KIND).tolist(),
            self._lamports()[part].tolist(),
            rents[part].tolist(),
            (flags & EXECUTABLE).astype(np.bool_).tolist(),
            owners[part].tolist(),
            self._datas(since, until),
            strict=False,
        )
        return map(_change, values)

    def _whole(self, column: Column) -> Unsigned:
        """A value of each account's first state."""
        return column.part(self._first, self._first + len(self._ends))

    def _sums(self, steps: Unsigned, column: Column) -> Unsigned:
        """Each account's first value, and what the steps make of it, modulo 2**64."""
        whole = self._whole(column)
        if len(whole) == 1:
            steps[0] = whole[0]
            sums: Unsigned = steps.cumsum()
            return sums
        sums = steps.cumsum()
        sums += np.repeat(whole - sums[self._begins], self._counts)
        return sums

    def _flagged(self, flag: int) -> tuple[int, Signed]:
        """How many changes before these have the flag, and which of these."""
        before = int(np.count_nonzero(self._flags[: self._before] & flag))
        return before, (self._flags[self._before : self._end] & flag).nonzero()[0]

    def _lamports(self) -> Unsigned:
        steps = np.zeros(self._count, np.uint64)
        before, given = self._flagged(LAMPORTS)
        column = self._content.lamport_steps
        steps[given] = unzigzag(column.part(before, before + len(given)))
        return self._sums(steps, self._content.lamports)

    def _held(self, column: Column, news: Column, flag: int) -> Unsigned:
        """A value that stays the same until a change has the flag."""
        whole = self._whole(column)
        values = np.repeat(whole, self._counts)
        if news.length:
            before, given = self._flagged(flag)
            numbers = given.tolist()
            ends = np.array(self._ends)[np.searchsorted(self._ends, given, "right")].tolist()
            new = news.part(before, before + len(numbers))
            for at, end, value in zip(numbers, ends, new, strict=True):
                values[at:end] = value
        return values

    def _datas(self, since: int, until: int) -> Iterator[bytes]:
        content = self._content
        found = self._held(content.sizes, content.new_sizes, SIZE)
        if int(found.max()) > MAX_DATA:
            raise BlockDamaged("an account that is too large")
        sizes: list[int] = found.tolist()
        wholes = [sizes[each] for each in self._begins]
        at = content.sizes.total(self._first, content.wholes)
        if at + sum(wholes) > content.wholes:
            raise BlockDamaged("whole states are missing")
        versions = _Versions(content, self._before, self._end, found.view(np.int64), sizes)
        places = accumulate(wholes, initial=content.wholes_at + at)
        if len(wholes) == 1:
            return versions.of(next(places), 0, since, until)
        return chain.from_iterable(map(versions.of, places, self._begins, self._begins, self._ends))


class _Versions:
    """The data of changes: a whole state, and the runs of bytes that each change wrote."""

    def __init__(
        self, content: Content, before: int, end: int, sizes: Signed, listed: list[int]
    ) -> None:
        self._data, self._sizes = content.data, listed
        counts = content.runs.small(before, end, MAX_DATA)
        ends = counts.cumsum()
        self._run_ends: list[int] = ends.tolist()
        first, count = content.runs.total(before, content.starts.length), self._run_ends[-1]
        if first + count > content.starts.length:
            raise BlockDamaged("differences are missing")
        self._starts = starts = content.starts.small(first, first + count, MAX_DATA)
        self._lengths = lengths = content.lengths.small(first, first + count, MAX_DATA)
        at = content.lengths.total(first, content.octets)
        self._octets_ends = lengths.cumsum() + (content.octets_at + at)
        if count and (
            int(self._octets_ends[-1]) > content.wholes_at
            or (starts + lengths > np.repeat(sizes, counts)).any()
        ):
            raise BlockDamaged("a difference outside of the data")

    def of(self, at: int, begin: int, since: int, until: int) -> Iterator[bytes]:
        """Of an account whose whole state lies at `at` and whose changes begin with `begin`."""
        data, sizes, run_ends = self._data, self._sizes, self._run_ends
        size = sizes[begin]
        whole = data[at : at + size]
        run = run_ends[since]
        if run == run_ends[begin] and size == sizes[since]:
            version = whole
        else:
            version = self._at(whole, begin, since)
        yield version
        last = run_ends[until - 1]
        if last == run and sizes[since:until].count(size) == until - since:
            for _ in range(since + 1, until):
                yield version
            return
        starts = self._starts[run:last].tolist()
        lengths = self._lengths[run:last].tolist()
        at = int(self._octets_ends[run] - self._lengths[run]) if starts else 0
        written = zip(starts, lengths, strict=True)
        state = bytearray(version)
        for number in range(since + 1, until):
            if sizes[number] != len(state):
                _resize(state, sizes[number])
                version = bytes(state)
            end = run_ends[number]
            if run < end:
                while run < end:
                    start, length = next(written)
                    state[start : start + length] = data[at : at + length]
                    at += length
                    run += 1
                version = bytes(state)
            yield version

    def _at(self, whole: bytes, begin: int, number: int) -> bytes:
        """The data as of a change: each run is written once, and cut to the size in the end."""
        state = bytearray(whole)
        sizes = self._sizes[begin : number + 1]
        _resize(state, max(sizes))
        part = slice(self._run_ends[begin], self._run_ends[number])
        starts, lengths = self._starts[part], self._lengths[part]
        if len(starts):
            at = int(self._octets_ends[part.start] - lengths[0])
            apply(state, starts, lengths, self._data, at)
        return bytes(state[: sizes[-1]])


def _resize(state: bytearray, size: int) -> None:
    del state[size:]
    state += bytes(size - len(state))
