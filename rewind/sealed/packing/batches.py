"""Changes as columns: each compared with the one before it, many at once."""

from collections.abc import Sequence
from operator import lt, ne
from typing import Any, NamedTuple

import numpy as np

from rewind.sealed.packing.changes import MAX_DATA, Change
from rewind.sealed.packing.columns import Signed, zigzag
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
    build,
)
from rewind.sealed.packing.differences import differences

_PUBKEY = 32
_ZERO = np.zeros(1, np.int64)
_ONE = np.uint64(1)
# What a change takes without its data, compressed, and each of its runs, about.
_CHANGE_COST, _RUN_COST = 6.0, 1.5
_CHANGE_BYTES, _RUN_BYTES = 48, 6


class Batch:
    """Some changes, and what differs from the change before each."""

    def __init__(self, rows: Sequence[Change], before: Change | None) -> None:
        """`before` is the change before the first one. ValueError for changes that no block has."""
        led = (before or rows[0], *rows)
        pubkeys, slots, positions, kinds, lamports, rents, executables, owners, datas = zip(
            *led, strict=True
        )
        count = len(led)
        self.is_account = np.fromiter(map(ne, pubkeys[1:], pubkeys), np.bool_, len(rows))
        if before is None:
            self.is_account[0] = True
        try:
            self._slots = np.fromiter(slots, np.int64, count)
            self._positions = np.fromiter(positions, np.int64, count)
            self._owners = np.fromiter(owners, np.int64, count)
            self._lamports = np.fromiter(lamports, np.uint64, count)
            self._rents = np.fromiter(rents, np.uint64, count)
            kind = np.fromiter(kinds, np.int64, count)
        except (OverflowError, TypeError) as error:
            raise ValueError(f"a change out of range: {error}") from error
        self._sizes = np.fromiter(map(len, datas), np.int64, count)
        self._check(pubkeys, kind, before is not None)
        # Those of a change that goes on from the one before.
        self.flags = (
            (kind | np.where(np.fromiter(executables, np.bool_, count), EXECUTABLE, 0))[1:]
            | np.where(self._owners[1:] != self._owners[:-1], OWNER, 0)
            | np.where(self._rents[1:] != self._rents[:-1], RENT, 0)
            | np.where(self._lamports[1:] != self._lamports[:-1], LAMPORTS, 0)
            | np.where(self._sizes[1:] != self._sizes[:-1], SIZE, 0)
        )
        self._compare(datas)

    def _check(self, pubkeys: Sequence[bytes], kind: Signed, follows: bool) -> None:
        account = self.is_account
        accounts = [pubkeys[number + 1] for number in np.flatnonzero(account).tolist()]
        if any(len(each) != _PUBKEY for each in accounts):
            raise ValueError("a pubkey has 32 bytes")
        if not all(map(lt, accounts, accounts[1:])) or (
            follows and accounts and accounts[0] < pubkeys[0]
        ):
            raise ValueError("pubkeys are not ascending")
        steps, moves = np.diff(self._slots), np.diff(self._positions)
        if not (account | (steps > 0) | ((steps == 0) & (moves > 0))).all():
            raise ValueError("an account's changes are not ascending")
        for name, values, least, most in (
            ("slot", self._slots, 0, I64_MAX),
            ("position", self._positions, LOWEST_POSITION, I32_MAX),
            ("owner_id", self._owners, 1, I32_MAX),
            ("kind", kind, 0, 1),
            ("size of data", self._sizes, 0, MAX_DATA),
        ):
            if int(values.min()) < least or int(values.max()) > most:
                raise ValueError(f"a {name} outside of {least} .. {most}")

    def _compare(self, datas: Sequence[bytes]) -> None:
        numbers, pairs = [], []
        for number, (is_account, old, new) in enumerate(
            zip(self.is_account.tolist(), datas, datas[1:], strict=False)
        ):
            if not is_account and old != new:
                numbers.append(number)
                pairs.append((old, new))
        found = differences(pairs)
        self.run_counts = np.zeros(len(datas) - 1, np.int64)
        self.run_counts[numbers] = found.counts
        self.run_ends = self.run_counts.cumsum()
        self.starts, self.lengths, self.octets = found.starts, found.lengths, found.octets
        self.octets_at = np.concatenate((_ZERO, found.lengths.cumsum()))
        octets = self.octets_at[self.run_ends] - self.octets_at[self.run_ends - self.run_counts]
        # Bytes of a change in the content, at most.
        self.bytes: list[int] = (_CHANGE_BYTES + _RUN_BYTES * self.run_counts + octets).tolist()
        self.costs: list[float] = (_CHANGE_COST + _RUN_COST * self.run_counts + octets).tolist()


class Piece(NamedTuple):
    """Changes of a batch that stand in one block."""

    batch: Batch
    begin: int
    end: int
    # Those whose whole state the block has; data of others is not held.
    wholes: list[Change]
    last: tuple[bytes, int, int]


def piece(batch: Batch, rows: Sequence[Change], begin: int, end: int, *, opens: bool) -> Piece:
    """A piece of the batch of these rows, which opens a block or goes on with one."""
    numbers = (np.flatnonzero(batch.is_account[begin:end]) + begin).tolist()
    if opens and (not numbers or numbers[0] != begin):
        numbers.insert(0, begin)
    return Piece(batch, begin, end, [rows[number] for number in numbers], rows[end - 1][:3])


def content_of(pieces: Sequence[Piece]) -> bytearray:
    """A block's content: the first change and each account's first are whole states."""
    is_account = _column(pieces, "is_account")
    is_account[0] = True
    begins = np.flatnonzero(is_account)
    count = len(is_account)
    firsts = [each for piece in pieces for each in piece.wholes]
    slots, lamports, owners, rents, sizes = (
        _values(pieces, name) for name in ("_slots", "_lamports", "_owners", "_rents", "_sizes")
    )
    lowest = int(slots[begins].min())
    steps = np.diff(slots, prepend=0)
    steps[begins] = 0
    flags = _column(pieces, "flags")
    flags[begins] &= KIND | EXECUTABLE
    # The first change is whole, whatever differed from the one before it.
    runs = _column(pieces, "run_counts")
    skipped, runs[0] = int(runs[0]), 0
    starts, lengths, octets = [], [], []
    for batch, begin, end, *_ in pieces:
        first = int(batch.run_ends[begin] - batch.run_counts[begin]) + skipped
        last = int(batch.run_ends[end - 1])
        starts.append(batch.starts[first:last])
        lengths.append(batch.lengths[first:last])
        octets.append(batch.octets[batch.octets_at[first] : batch.octets_at[last]])
        skipped = 0
    columns = {
        "counts": np.diff(begins, append=count),
        "slots": slots[begins] - lowest,
        "lamports": lamports[begins],
        "owners": owners[begins],
        "rents": rents[begins] + _ONE,
        "sizes": sizes[begins],
        "steps": steps,
        "positions": _values(pieces, "_positions") - LOWEST_POSITION,
        "runs": runs,
        "flags": flags,
        "new_owners": owners[(flags & OWNER) > 0],
        "new_rents": rents[(flags & RENT) > 0] + _ONE,
        "lamport_steps": zigzag(
            np.diff(lamports, prepend=lamports[:1]).view(np.int64)[(flags & LAMPORTS) > 0]
        ),
        "new_sizes": sizes[(flags & SIZE) > 0],
        "starts": _joined(starts),
        "lengths": _joined(lengths),
    }
    return build(
        firsts[0].pubkey[0],
        lowest,
        columns,
        b"".join([each.pubkey[1:] for each in firsts]),
        b"".join(octets),
        b"".join([each.data for each in firsts]),
    )


def _values(pieces: Sequence[Piece], name: str) -> Any:
    """A column that begins with the value before the batch's first change."""
    return _joined([getattr(batch, name)[begin + 1 : end + 1] for batch, begin, end, *_ in pieces])


def _column(pieces: Sequence[Piece], name: str) -> Any:
    return _joined([getattr(batch, name)[begin:end] for batch, begin, end, *_ in pieces])


def _joined(arrays: list[Any]) -> Any:
    """A copy, which may be changed."""
    return np.concatenate(arrays)
