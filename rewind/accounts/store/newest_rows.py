"""The text that finds an account's newest row in partitions, and its form for a cluster: a
statement for each account, and what filters say of them beside it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from columns.raw_queries import Query
from rewind.accounts.store import marks
from rewind.accounts.store.row_cache import NO_VERSION, Version
from rewind.positions import Position
from rewind.recording.store import owners
from rewind.recording.store.partitions import Partition

# Of each kind: as many as a connection keeps prepared.
TEXTS = 64
# A hundred accounts of the largest size would fill a process's memory.
LARGE = 1 << 20

_COLUMNS = "pubkey, slot, position, kind, lamports, rent_epoch, executable, owner_id, data"
_NO_ROWS = (
    "SELECT ''::bytea AS pubkey, 0::bigint AS slot, 0 AS position, 0::smallint AS kind,"
    " 0::bigint AS lamports, 0::bigint AS rent_epoch, false AS executable, 0 AS owner_id,"
    " ''::bytea AS data, '1'::xid AS xmin WHERE false"
)
XID = ", xmin::text::bigint AS xid"


def newest_of(
    partitions: tuple[Partition, ...],
    key: str,
    slot: str = "$2",
    order: str = "$3",
    *,
    also: str = "",
) -> str:
    """An account's newest row at or before a position, all named by expressions. The partitions are
    looked into one after the other, newest first, until one has a row; those that begin above the
    position are passed over. `also` are columns beside those of a state.
    """
    if not partitions:
        return f"SELECT {_COLUMNS}{also} FROM ({_NO_ROWS}) AS none"
    parts = (
        f"(SELECT {_COLUMNS}{also} FROM {partition.table} WHERE {slot} >= {partition.first}"
        f" AND pubkey = {key} AND (slot, position) <= ({slot}, {order})"
        " ORDER BY slot DESC, position DESC LIMIT 1)"
        for partition in partitions
    )
    return f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS parts LIMIT 1"


def queries_apart(
    partitions: tuple[Partition, ...],
    places: Sequence[tuple[bytes, Position]],
    *,
    is_whole: bool = False,
) -> list[Query]:
    """What `rows_apart` needs the rows of: of each account at its position. Large data come only
    with `is_whole`.
    """
    text = _of_one(partitions, is_whole)
    newest = [(text, pubkey, *position) for pubkey, position in places]
    return [*newest, *marks.queries(pubkey for pubkey, _ in places)]


def rows_apart(found: Sequence[Sequence[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """Rows of those that have one, in the order of State's fields."""
    return [row for _, row in _numbered(found)]


def queries_of_unknown(
    partitions: tuple[Partition, ...],
    places: Sequence[tuple[bytes, Position]],
    known: Sequence[Version],
) -> list[Query]:
    """The same for `unknown_rows`: of the rows that are known by their versions no data come."""
    text = _of_unknown(partitions)
    newest = [
        (text, pubkey, *position, *version)
        for (pubkey, position), version in zip(places, known, strict=True)
    ]
    return [*newest, *marks.queries(pubkey for pubkey, _ in places)]


def unknown_rows(
    places: Sequence[tuple[bytes, Position]], found: Sequence[Sequence[tuple[Any, ...]]]
) -> list[tuple[Any, ...]]:
    """(slot and order asked for, xid, and a row in the order of State's fields)."""
    xids = [rows[0][-1] if rows else NO_VERSION.xid for rows in found[: len(places)]]
    whole = [[row[:-1] for row in rows] for rows in found[: len(places)]]
    return [
        (*places[number][1], xids[number], *row)
        for number, row in _numbered([*whole, *found[len(places) :]])
    ]


def _numbered(
    found: Sequence[Sequence[tuple[Any, ...]]],
) -> list[tuple[int, tuple[Any, ...]]]:
    *newest, of_accounts, filtered = found
    said = marks.by_pubkey(of_accounts)
    filtered_ids = {number for (number,) in filtered}
    rows = [(number, row) for number, some in enumerate(newest) for row in some]
    names = owners.pubkeys_of({row[7] for _, row in rows})
    return [
        (
            number,
            (*row[:7], names[row[7]], row[7] in filtered_ids, row[8], *said[row[0]]),
        )
        for number, row in rows
    ]


_STATE = "c.pubkey, c.slot, c.position, c.kind, c.lamports, c.rent_epoch, c.executable, c.owner_id"


@lru_cache(maxsize=TEXTS)
def _of_one(partitions: tuple[Partition, ...], is_whole: bool) -> str:
    data = "c.data" if is_whole else f"CASE WHEN octet_length(c.data) <= {LARGE} THEN c.data END"
    return f"SELECT {_STATE}, {data} FROM ({newest_of(partitions, '$1')}) AS c"


@lru_cache(maxsize=TEXTS)
def _of_unknown(partitions: tuple[Partition, ...]) -> str:
    return (
        f"SELECT {_STATE}, CASE WHEN (c.slot, c.position, c.xid) IS DISTINCT FROM"
        f" ($4::bigint, $5::bigint, $6::bigint) AND octet_length(c.data) <= {LARGE}"
        f" THEN c.data END, c.xid FROM ({newest_of(partitions, '$1', also=XID)}) AS c"
    )
