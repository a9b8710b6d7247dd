"""Some accounts of a block, decoded: their keys at once, their values when they are asked for."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, chain, repeat

import numpy as np

from rewind.sealed.packing.changes import MAX_DATA, BlockDamaged, Change
from rewind.sealed.packing.columns import Column, Signed, Unsigned, unzigzag
from rewind.sealed.packing.content import (
    EXECUTABLE,
    I32_MAX,
    I64_MAX,
    KIND,
    LAMPORTS,
    LOWEST_POSITION,
    OWNER,
    RENT,
    SIZE,
    U64_MAX,
    Content,
)
from rewind.sealed.packing.differences import apply

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
        self._flags = content.flags.octets()
        steps = content.steps.part(before, before + self._count)
        self._slots = self._sums(steps, content.slots).view(np.int64) + content.lowest
        most = I32_MAX - LOWEST_POSITION
        self._positions = (
            content.positions.small(before, before + self._count, most) + LOWEST_POSITION
        )

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
        rents = self._held(content.rents, content.new_rents, RENT, until)
        owners = self._held(content.owners, content.new_owners, OWNER, until)
        values = zip(
            pubkeys,
            self._slots[part].tolist(),
            self._positions[part].tolist(),
            (flags & KIND).tolist(),
            self._lamports(until)[part].tolist(),
            [each - 1 if each else U64_MAX for each in rents[part]],
            (flags & EXECUTABLE).astype(np.bool_).tolist(),
            owners[part],
            self._datas(since, until),
            strict=False,
        )
        return map(_change, values)

    def _sums(self, steps: Unsigned, column: Column) -> Unsigned:
        """Each account's first value, and what the steps make of it, modulo 2**64."""
        if len(self._ends) == 1:
            steps[0] = column.one(self._first)
            sums: Unsigned = steps.cumsum()
            return sums
        whole = column.part(self._first, self._first + len(self._ends))
        sums = steps.cumsum()
        sums += np.repeat(whole - sums[self._begins], self._counts)
        return sums

    def _flagged(self, flag: int, until: int) -> tuple[int, Signed]:
        """How many changes before these have the flag, and which of these."""
        flagged = (self._flags[: self._before + until] & flag).nonzero()[0]
        before = int(flagged.searchsorted(self._before))
        return before, flagged[before:] - self._before

    def _lamports(self, until: int) -> Unsigned:
        steps = np.zeros(until, np.uint64)
        before, given = self._flagged(LAMPORTS, until)
        column = self._content.lamport_steps
        steps[given] = unzigzag(column.part(before, before + len(given)))
        return self._sums(steps, self._content.lamports)

    def _held(self, column: Column, news: Column, flag: int, until: int) -> list[int]:
        """A value that stays the same until a change has the flag."""
        if len(self._ends) == 1:
            values = [column.one(self._first)] * until
        else:
            whole = column.part(self._first, self._first + len(self._ends))
            values = np.repeat(whole, self._counts).tolist()
        if news.length:
            before, given = self._flagged(flag, until)
            numbers = given.tolist()
            new: list[int] = news.part(before, before + len(numbers)).tolist()
            for at, value in zip(numbers, new, strict=True):
                end = min(until, self._ends[bisect_right(self._ends, at)])
                values[at:end] = repeat(value, end - at)
        return values

    def _datas(self, since: int, until: int) -> Iterator[bytes]:
        content = self._content
        sizes = self._held(content.sizes, content.new_sizes, SIZE, until)
        if max(sizes) > MAX_DATA:
            raise BlockDamaged("an account that is too large")
        wholes = [sizes[each] for each in self._begins]
        at = content.sizes.total(0, self._first)
        if at + sum(wholes) > content.wholes:
            raise BlockDamaged("whole states are missing")
        versions = _Versions(content, self._before, sizes)
        places = accumulate(wholes, initial=content.wholes_at + at)
        if len(wholes) == 1:
            return versions.of(next(places), 0, since, until)
        return chain.from_iterable(map(versions.of, places, self._begins, self._begins, self._ends))


class _Versions:
    """The data of changes: a whole state, and the runs of bytes that each change wrote."""

    def __init__(self, content: Content, before: int, sizes: list[int]) -> None:
        """Of changes from the number `before` on, as many as there are sizes."""
        self._data, self._sizes = content.data, sizes
        counts = content.runs.small(before, before + len(sizes), MAX_DATA)
        self._run_ends: list[int] = counts.cumsum().tolist()
        runs = content.starts.length
        first, count = content.runs.total(0, before), self._run_ends[-1]
        if first + count > runs:
            raise BlockDamaged("differences are missing")
        self._starts = content.starts.small(first, first + count, MAX_DATA)
        self._lengths = content.lengths.small(first, first + count, MAX_DATA)
        self._stops = self._starts + self._lengths
        at = content.octets_at + content.lengths.total(0, first)
        self._octets_ends = self._lengths.cumsum() + at
        if count and (
            int(self._octets_ends[-1]) > len(content.data)
            or (self._stops > _repeated(sizes, counts)).any()
        ):
            raise BlockDamaged("a difference outside of the data")

    def of(self, at: int, begin: int, since: int, until: int) -> Iterator[bytes]:
        """Of an account whose whole state lies at `at` and whose changes begin with `begin`."""
        data, sizes, run_ends = self._data, self._sizes, self._run_ends
        size = sizes[begin]
        version = data[at : at + size]
        run, last = run_ends[since], run_ends[until - 1]
        if run > run_ends[begin] or size != sizes[since]:
            version = self._at(version, begin, since)
        yield version
        since += 1
        if since == until:
            return
        part = slice(run, last)
        at = int(self._octets_ends[run] - self._lengths[run]) if run < last else 0
        written = zip(self._starts[part].tolist(), self._lengths[part].tolist(), strict=True)
        state = bytearray(version)
        for size, end in zip(sizes[since:until], run_ends[since:until], strict=True):
            if size != len(state):
                _resize(state, size)
                version = bytes(state)
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
        lengths = self._lengths[part]
        if len(lengths):
            at = int(self._octets_ends[part.start] - lengths[0])
            apply(state, self._starts[part], lengths, self._data, at)
        return bytes(state) if sizes[-1] == len(state) else bytes(state[: sizes[-1]])


def _repeated(sizes: list[int], counts: Signed) -> Signed | int:
    if sizes.count(sizes[0]) == len(sizes):
        return sizes[0]
    return np.array(sizes).repeat(counts)


def _resize(state: bytearray, size: int) -> None:
    del state[size:]
    state += bytes(size - len(state))
