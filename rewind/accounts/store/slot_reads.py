"""Reads what slots left of accounts that are known by their pubkeys' first bytes, hot or sealed."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from psycopg.errors import UndefinedTable

from columns.clusters import is_clustered
from columns.packed_data import as_stored
from columns.raw_queries import fetch_all, fetch_together
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.recording.store import partitions
from rewind.recording.store.partitions import Partition, Sealed
from rewind.sealed.packing.changes import WRITE, Change
from rewind.sealed.packing.slot_owners import PREFIX
from rewind.sealed.store import open_blocks

_U64 = 2**64
# Prefixes of one statement; sealed blocks that are decoded at once.
_AT_ONCE = 1_000
_BLOCKS_AT_ONCE = 64
# Packed data up to this comes with its row; what is larger is fetched when it is wanted.
_LARGE = 8_192
_ABOVE_ALL = b"\xff" * 33

_COLUMNS = "pubkey, slot, position, kind, lamports, rent_epoch, executable, owner_id"
# Of each account and slot the last write, in the order that the index has backwards.
_LAST = (
    f"SELECT DISTINCT ON (pubkey, slot) {_COLUMNS},"
    f" CASE WHEN octet_length(data) <= {_LARGE} THEN data END AS packed FROM {{table}}"
    " WHERE pubkey >= {low} AND pubkey < {high} AND slot BETWEEN $3 AND $4"
    f" AND kind = {WRITE} ORDER BY pubkey DESC, slot DESC, position DESC"
)
_SEVERAL = (
    "SELECT c.* FROM unnest((SELECT $1), (SELECT $2)) AS k (low, high), LATERAL ({last}) AS c"
)
# Of the segment $3 the blocks that begin with an account between $1 and $2, and the one before.
_HEADS = (
    "SELECT k.number, b.id, b.pubkey, b.slot FROM unnest((SELECT $1), (SELECT $2)) WITH ORDINALITY"
    " AS k (low, high, number), LATERAL ((SELECT id, pubkey, slot, position FROM rewind_sealedblock"
    " WHERE segment_id = $3 AND (pubkey, slot, position) < (k.low, 0, -9)"
    " ORDER BY pubkey DESC, slot DESC, position DESC LIMIT 1) UNION ALL"
    " (SELECT id, pubkey, slot, position FROM rewind_sealedblock WHERE segment_id = $3"
    " AND pubkey >= k.low AND pubkey < k.high)) AS b"
    " ORDER BY k.number, b.pubkey, b.slot, b.position"
)
# The same in a cluster, of the bucket $4.
_HEAD_BEFORE = (
    "SELECT id, pubkey, slot FROM rewind_sealedblock WHERE segment_id = $3 AND pubkey < $1"
    " AND pubkey < $2 AND bucket = $4::smallint"
    " ORDER BY pubkey DESC, slot DESC, position DESC LIMIT 1"
)
_HEADS_WITHIN = (
    "SELECT id, pubkey, slot FROM rewind_sealedblock WHERE segment_id = $3 AND pubkey >= $1"
    " AND pubkey < $2 AND bucket = $4::smallint ORDER BY pubkey, slot, position"
)

# An account and a slot → the slot's last write of it. Where `data` is None it is large.
Found = dict[tuple[bytes, int], tuple[Change, bytes | None]]


def last_writes(prefixes: Sequence[int], first: int, last: int) -> Found:
    """The last write in each slot from `first` to `last`, both included, of every account that
    begins with one of the prefixes; with its packed data, None where that is large. Raises
    ArchiveDamaged and ArchiveStoreUnavailable.
    """
    while True:
        layout = partitions.layout(look_up_slot(first).layout)
        found: Found = {}
        try:
            for segment in layout.segments:
                for sealed in segment.sealed:
                    if sealed.first <= last and sealed.last >= first:
                        _take(found, _sealed(sealed, prefixes, first, last))
                for partition in segment.partitions:
                    if partition.first <= last and partition.last >= first:
                        _take(found, _hot(partition, prefixes, first, last))
        except UndefinedTable:
            partitions.forget()  # a partition was sealed, or left the window
            continue
        if look_up_slot(first).layout == layout.number:
            return found


def _take(found: Found, more: Iterator[tuple[Change, bytes | None]]) -> None:
    """Of the same place the one that comes later counts: a row, which is newer than sealed ones."""
    for change, packed in more:
        key = change.pubkey, change.slot
        known = found.get(key)
        if known is None or known[0].position <= change.position:
            found[key] = change, packed


def _bounds(prefix: int) -> tuple[bytes, bytes]:
    low = prefix.to_bytes(PREFIX)
    above = prefix + 1
    return low, _ABOVE_ALL if above >> 8 * PREFIX else above.to_bytes(PREFIX)


def _hot(
    partition: Partition, prefixes: Sequence[int], first: int, last: int
) -> Iterator[tuple[Change, bytes | None]]:
    for begin in range(0, len(prefixes), _AT_ONCE):
        bounds = [_bounds(each) for each in prefixes[begin : begin + _AT_ONCE]]
        if is_clustered():
            text = _LAST.format(table=partition.table, low="$1", high="$2")
            several = fetch_together([(text, *each, first, last) for each in bounds])
            rows = [row for rows in several for row in rows]
        else:
            text = _SEVERAL.format(
                last=_LAST.format(table=partition.table, low="k.low", high="k.high")
            )
            lows, highs = map(list, zip(*bounds, strict=True))
            rows = fetch_all(text, lows, highs, first, last)
        for *place, kind, lamports, rent_epoch, executable, owner, packed in rows:
            pubkey, slot, position = place
            numbers = lamports % _U64, rent_epoch % _U64
            yield Change(pubkey, slot, position, kind, *numbers, executable, owner, b""), packed


def _sealed(
    segment: Sealed, prefixes: Sequence[int], first: int, last: int
) -> Iterator[tuple[Change, bytes | None]]:
    wanted: dict[int, list[bytes]] = defaultdict(list)
    for begin in range(0, len(prefixes), _AT_ONCE):
        bounds = [_bounds(each) for each in prefixes[begin : begin + _AT_ONCE]]
        for (low, _), heads in zip(bounds, _heads(segment.id, bounds), strict=True):
            for block in _blocks_with(heads, low, first, last):
                wanted[block].append(low)
    blocks = list(wanted)
    for begin in range(0, len(blocks), _BLOCKS_AT_ONCE):
        some = blocks[begin : begin + _BLOCKS_AT_ONCE]
        bodies = open_blocks.fetched([(each, segment.id, wanted[each][0][0]) for each in some])
        for block, body in bodies.items():
            for low in wanted[block]:
                for change in body.of_prefix(low, first, last):
                    if change.kind == WRITE:
                        yield change._replace(data=b""), as_stored(change.data)


# A block's number, and the pubkey and slot that it begins with.
Head = tuple[int, bytes, int]


def _heads(segment: int, bounds: Sequence[tuple[bytes, bytes]]) -> list[list[Head]]:
    """Of each pair of bounds the blocks that may have an account between them, ascending."""
    if is_clustered():
        queries = [
            (text, *each, segment, each[0][0])
            for each in bounds
            for text in (_HEAD_BEFORE, _HEADS_WITHIN)
        ]
        rows = fetch_together(queries)
        return [[*rows[at], *rows[at + 1]] for at in range(0, len(rows), 2)]
    found: list[list[Head]] = [[] for _ in bounds]
    lows, highs = map(list, zip(*bounds, strict=True))
    for number, *head in fetch_all(_HEADS, lows, highs, segment):
        found[number - 1].append((head[0], head[1], head[2]))
    return found


def _blocks_with(heads: Sequence[Head], low: bytes, first: int, last: int) -> Iterator[int]:
    """Those of the blocks that may have changes of these slots. One between two that begin with the
    same account has nothing but slots between theirs.
    """
    for (block, pubkey, slot), after in zip(heads, [*heads[1:], None], strict=True):
        if pubkey[0] != low[0]:
            continue  # a block has pubkeys of one first byte
        is_within = after is not None and after[1] == pubkey
        if not is_within or (slot <= last and after is not None and after[2] >= first):
            yield block
