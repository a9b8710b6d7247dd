"""An account's rows, newest first, one partition after the other, and large data apart."""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from psycopg.errors import UndefinedTable

from columns.clusters import is_clustered
from columns.packed_data import as_stored, unpack
from columns.raw_queries import fetch_all
from rewind.accounts.store.large_data import packed_data
from rewind.models import AccountChange
from rewind.positions import CARRIED, Position
from rewind.recording.store import owners, partitions
from rewind.recording.store.partitions import Layout, Segment
from rewind.sealed.packing.changes import Change
from rewind.sealed.store import sealed_reads
from rewind.sealed.store.segments import newest_below

_U64 = 2**64
_WRITE = AccountChange.Kind.WRITE.value
# Packed data up to this comes with its row; what is larger is fetched when it is wanted.
_LARGE = 8_192


class Row(NamedTuple):
    """An account as a write left it, or as it was found; `packed` is None where it is large.
    `is_coarse` says that of its slot the archive may have each account's last write alone.
    """

    slot: int
    position: int
    kind: int
    lamports: int
    rent_epoch: int
    executable: bool
    owner: bytes
    packed: bytes | None
    is_coarse: bool

    @property
    def is_write(self) -> bool:
        return self.kind == _WRITE

    @property
    def known_to(self) -> int:
        """The slot up to which nothing came after it: what was carried over is of any slot below
        the one that it stands in.
        """
        return self.slot - 1 if self.position == CARRIED else self.slot


def rows_below(
    pubkey: bytes, below: Position, first_slot: int, layout: int, *, at_once: int
) -> Iterator[list[Row]]:
    """The account's rows of any kind strictly before a position, down to the first slot; each time
    at most `at_once`, and no more are read before they are asked for.
    """
    for segment in _segments(pubkey, below.slot, first_slot, partitions.layout(layout)):
        is_read = False
        while not is_read:
            try:
                rows = _read(segment, pubkey, below, first_slot, at_once)
            except UndefinedTable:
                # A partition of the segment left the window; of the others nothing is lost.
                partitions.forget()
                yield from rows_below(pubkey, below, first_slot, layout, at_once=at_once)
                return
            if rows:
                yield rows
                below = Position(rows[-1].slot, rows[-1].position)
            is_read = len(rows) < at_once


def _read(
    segment: Segment, pubkey: bytes, below: Position, first_slot: int, at_once: int
) -> list[Row]:
    """The segment's next rows, sealed or not: of the same place, the one that is not."""
    found = []
    if segment.partitions:
        text = _rows_apart(segment) if is_clustered() else _rows(segment)
        found = fetch_all(text, pubkey, *below, first_slot, at_once)
    if found and is_clustered():
        names = owners.pubkeys_of({each[6] for each in found})
        coarse = _coarse_among({each[0] for each in found})
        found = [(*each[:6], names[each[6]], each[7], each[0] in coarse) for each in found]
    rows = [_row(each) for each in found]
    if not segment.sealed:
        return rows
    packed = sealed_reads.below(pubkey, below, first_slot, segment.sealed, at_once)
    if not packed:
        return rows
    both = {(row.slot, row.position): row for row in _sealed_rows(packed)}
    both.update({(row.slot, row.position): row for row in rows})
    return [row for _, row in sorted(both.items(), reverse=True)][:at_once]


def _sealed_rows(changes: Sequence[Change]) -> Iterator[Row]:
    names = owners.pubkeys_of({change.owner_id for change in changes})
    coarse = _coarse_among({change.slot for change in changes})
    for change in changes:
        yield Row(
            change.slot,
            change.position,
            change.kind,
            change.lamports,
            change.rent_epoch,
            change.executable,
            names[change.owner_id],
            as_stored(change.data),
            change.slot in coarse,
        )


def _coarse_among(slots: Collection[int]) -> set[int]:
    rows = fetch_all(
        "SELECT slot FROM rewind_archivedslot WHERE slot = ANY($1) AND granularity > 0",
        sorted(slots),
    )
    return {slot for (slot,) in rows}


def _segments(pubkey: bytes, slot: int, first_slot: int, layout: Layout) -> Iterator[Segment]:
    """Where the account may have rows, newest first: the slot's own segment, those that are not in
    the index yet, and those that the index names.
    """
    highest, lowest = partitions.segment_of(slot), partitions.segment_of(first_slot)
    bound = min(highest, layout.indexed)
    there = {each.number: each for each in layout.segments if lowest <= each.number <= highest}
    yield from (segment for number, segment in there.items() if number >= bound)
    if not there:
        return
    while bound > min(there):
        found = newest_below(pubkey, bound)
        if found is None:
            return
        bound = found.segment
        if bound in there:
            yield there[bound]


def newest_row(pubkey: bytes, below: Position, layout: int) -> Row | None:
    """The account's newest row of any kind strictly before a position."""
    rows = next(rows_below(pubkey, below, 0, layout, at_once=1), None)
    return rows[0] if rows else None


def data_of(pubkey: bytes, row: Row) -> bytes:
    """The whole data of the account's row. Raises SlotTooOld when it just left the window."""
    packed = row.packed
    if packed is None:
        packed = packed_data(pubkey, row.slot, row.position)
    return unpack(packed)


def written_later_in_slot(pubkeys: Sequence[bytes], position: Position, layout: int) -> set[bytes]:
    """Those of the accounts that were written after the position and in its slot."""
    segment = next(partitions.segments(position.slot, layout), None)
    if not pubkeys or segment is None:
        return set()
    found: set[bytes] = set()
    for each in segment.partitions:
        if each.first <= position.slot <= each.last:
            rows = fetch_all(
                f"SELECT pubkey FROM {each.table} WHERE pubkey = ANY($1) AND slot = $2"
                f" AND position > $3 AND kind = {_WRITE}",
                list(pubkeys),
                *position,
            )
            found = {pubkey for (pubkey,) in rows}
    sealed = [each for each in segment.sealed if each.first <= position.slot <= each.last]
    if sealed:
        end = Position(position.slot + 1, CARRIED - 1)
        at_end = {pubkey: (pubkey, end) for pubkey in pubkeys if pubkey not in found}
        later = sealed_reads.newest(list(at_end.values()), [each.id for each in sealed])
        found |= {
            pubkey
            for (pubkey, _), each in later.items()
            if each.place > position and each.change.kind == _WRITE
        }
    return found


def _row(row: tuple[object, ...]) -> Row:
    found = Row(*row)  # type: ignore[arg-type]
    return found._replace(lamports=found.lamports % _U64, rent_epoch=found.rent_epoch % _U64)


_COLUMNS = "slot, position, kind, lamports, rent_epoch, executable, owner_id"


@lru_cache(maxsize=64)
def _rows(segment: Segment) -> str:
    return (
        "SELECT c.slot, c.position, c.kind, c.lamports, c.rent_epoch, c.executable, o.pubkey,"
        f" c.packed, coalesce(a.granularity > 0, false) FROM ({_listed(segment)}) AS c"
        " JOIN rewind_owner o ON o.id = c.owner_id"
        " LEFT JOIN rewind_archivedslot a ON a.slot = c.slot ORDER BY c.slot DESC, c.position DESC"
    )


@lru_cache(maxsize=64)
def _rows_apart(segment: Segment) -> str:
    """The same without what the coordinator of a cluster knows; an owner's number for its key."""
    return f"SELECT * FROM ({_listed(segment)}) AS c ORDER BY slot DESC, position DESC"


def _listed(segment: Segment) -> str:
    """Each partition gives its rows in order, and none is looked into before those above it."""
    parts = (
        f"(SELECT {_COLUMNS}, CASE WHEN octet_length(data) <= {_LARGE} THEN data END AS packed"
        f" FROM {table} WHERE pubkey = $1 AND (slot, position) < ($2, $3) AND slot >= $4"
        " ORDER BY slot DESC, position DESC LIMIT $5)"
        for table in segment.tables
    )
    # A lone part could not have a LIMIT of its own and another behind it.
    return f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS p LIMIT $5"
