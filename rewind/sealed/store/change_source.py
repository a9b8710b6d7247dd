"""Account changes in the order of their keys, out of partitions and sealed segments at once."""

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from columns.clusters import is_clustered
from columns.packed_data import unpack
from columns.raw_queries import fetch_all
from rewind.sealed.packing.changes import Change
from rewind.sealed.store import open_blocks

_U64 = 2**64
# Rows of a table that are read at once, and their data. Of a larger row one comes alone.
_ROWS = 10_000
_MOST_BYTES = 32 << 20
_BLOCKS = 64


class Key(NamedTuple):
    """Where a change stands among all."""

    pubkey: bytes
    slot: int
    position: int


BEFORE_ALL = Key(b"", -1, 0)
_key = itemgetter(0, 1, 2)
_change = partial(tuple.__new__, Change)


def merged(
    tables: Sequence[str],
    segments: Sequence[int],
    *,
    after: Key = BEFORE_ALL,
    below: bytes | None = None,
    first_slot: int = 0,
    last_slot: int = 2**62,
    without: Collection[int] = (),
    at_once: int = _ROWS,
) -> Iterator[Change]:
    """Every change of the partitions and segments in these slots whose key comes after that one,
    and whose pubkey is below the other. Where two have the same key, the first source that is
    named wins, and partitions win over segments. Sealed blocks `without` are left out; `at_once`
    rows of a table are read at once.
    """
    sources = [_of_table(table, after, below, first_slot, last_slot, at_once) for table in tables]
    sources += [
        _of_segment(each, after, below, first_slot, last_slot, without) for each in segments
    ]
    if len(sources) == 1:
        return sources[0]
    # merge() keeps the order of its sources among equals.
    ordered = heapq.merge(*sources, key=_key)
    return (next(same) for _, same in groupby(ordered, key=_key))


def _of_table(
    table: str, after: Key, below: bytes | None, first_slot: int, last_slot: int, at_once: int
) -> Iterator[Change]:
    if is_clustered():
        yield from _of_spread_table(table, after, below, first_slot, last_slot)
        return
    text = _text(table, is_bounded=below is not None)
    bounds = () if below is None else (below,)
    while rows := fetch_all(text, *after, first_slot, last_slot, at_once, *bounds):
        yield from _changes(rows)
        after = Key(*rows[-1][:3])


def _changes(rows: list[tuple[Any, ...]]) -> Iterator[Change]:
    *keys, kinds, lamports, rents, executables, owners, datas = zip(*rows, strict=True)
    columns = (kinds, _unsigned(lamports), _unsigned(rents), executables, owners)
    return map(_change, zip(*keys, *columns, map(unpack, datas), strict=True))


def _unsigned(numbers: tuple[int, ...]) -> Iterable[int]:
    """u64 as PostgreSQL's bigint has it."""
    return [number % _U64 for number in numbers] if min(numbers) < 0 else numbers


def _of_spread_table(
    table: str, after: Key, below: bytes | None, first_slot: int, last_slot: int
) -> Iterator[Change]:
    """Each node sends the first rows of what is asked for, and most would be thrown away: keys are
    asked for in ranges that are as wide as fills an answer.
    """
    text = _text(table, is_bounded=True)
    end = _ABOVE_ALL if below is None else below
    width = _TOP
    while True:
        bound = min(_key_of(_number(after.pubkey) + width), end)
        rows = fetch_all(text, *after, first_slot, last_slot, _ROWS, bound)
        if rows:
            yield from _changes(rows)
        if len(rows) == _ROWS or sum(len(row[-1]) for row in rows) > _MOST_BYTES:
            after = Key(*rows[-1][:3])
            width = max(width // 4, 1)
            continue
        if bound == end:
            return
        after = Key(bound, -1, -(2**31))
        width = min(width * 2, _TOP) if len(rows) < _ROWS // 4 else width


# The first 8 bytes of keys as a number, and what is above all of them.
_TOP = 2**64
_ABOVE_ALL = b"\xff" * 33


def _number(key: bytes) -> int:
    return int.from_bytes(key[:8].ljust(8, b"\0"), "big")


def _key_of(number: int) -> bytes:
    return _ABOVE_ALL if number >= _TOP else number.to_bytes(8, "big")


def _text(table: str, *, is_bounded: bool) -> str:
    key = "pubkey, slot, position"
    columns = f"{key}, kind, lamports, rent_epoch, executable, owner_id, data"
    bound = " AND pubkey < $7" if is_bounded else ""
    return (
        f"SELECT {columns} FROM (SELECT *, sum(octet_length(data))"
        f" OVER (ORDER BY {key} ROWS UNBOUNDED PRECEDING) AS total FROM (SELECT {columns}"
        f" FROM {table} WHERE ({key}) > ($1, $2, $3) AND slot BETWEEN $4 AND $5{bound}"
        f" ORDER BY {key} LIMIT $6) AS next) AS t"
        f" WHERE total - octet_length(data) <= {_MOST_BYTES} ORDER BY {key}"
    )


def _of_segment(
    segment: int,
    after: Key,
    below: bytes | None,
    first_slot: int,
    last_slot: int,
    without: Collection[int],
) -> Iterator[Change]:
    for body in open_blocks.bodies_from(segment, after, _BLOCKS, without):
        for change in body.all():
            if below is not None and change.pubkey >= below:
                return
            if first_slot <= change.slot <= last_slot and _key(change) > after:
                yield change
