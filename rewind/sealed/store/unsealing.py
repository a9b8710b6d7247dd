"""Copies of sealed changes in temporary tables, for statements that work on rows."""

from collections.abc import Iterable
from itertools import groupby, islice

from columns.queries import execute
from columns.raw_queries import fetch_all
from rewind.positions import END_OF_SLOT, Position
from rewind.recording.store import writing
from rewind.recording.store.partitions import Sealed
from rewind.sealed.packing.changes import Change
from rewind.sealed.store import change_source, sealed_reads
from rewind.sealed.store.change_source import Key

_COPIED_AT_ONCE = 5_000
_ACTIVE = "SELECT id, first_slot, last_slot FROM rewind_sealedsegment WHERE state = 1"


def copy(changes: Iterable[Change]) -> None:
    """The changes are rows of the temporary table rewind_unsealed, and no others."""
    writing.empty("rewind_unsealed")
    rows = map(writing.packed_change, changes)
    # Reading the changes asks the same connection, which serves nothing else during a COPY.
    while some := list(islice(rows, _COPIED_AT_ONCE)):
        writing.copy_rows("rewind_unsealed", writing.COLUMNS, some)


def copy_newest_below(low: bytes, high: bytes | None, edge: int) -> None:
    """The same of each account's newest sealed change below the slot, of pubkeys from `low` on and
    below `high`.
    """
    segments = [row[0] for row in fetch_all(f"{_ACTIVE} AND last_slot < $1", edge)]
    changes = change_source.merged([], segments, after=Key(low, -1, 0), below=high)
    copy(list(same)[-1] for _, same in groupby(changes, key=lambda change: change.pubkey))


def copy_at_end_of(slot: int) -> None:
    """The same of all that is sealed at the end of a slot."""
    segments = [row[0] for row in _covering(slot)]
    changes = change_source.merged([], segments, first_slot=slot, last_slot=slot)
    copy(each for each in changes if each.position == END_OF_SLOT)


def restore_staged() -> bool:
    """What is sealed at the places of staged rows stands among late rows, as if it had never been
    sealed; False where there is none.
    """
    rows = fetch_all(
        "SELECT s.id, s.first_slot, s.last_slot, r.pubkey, r.slot, r.position FROM rewind_staged r"
        " JOIN rewind_sealedsegment s ON s.state = 1"
        " AND r.slot BETWEEN s.first_slot AND s.last_slot"
    )
    by_segment: dict[Sealed, list[tuple[bytes, Position]]] = {}
    for number, first, last, pubkey, slot, position in rows:
        places = by_segment.setdefault(Sealed(number, first, last), [])
        places.append((pubkey, Position(slot, position)))
    found = [
        change
        for sealed, places in by_segment.items()
        for change in sealed_reads.at_places(places, [sealed])
    ]
    if not found:
        return False
    copy(found)
    execute(
        f"INSERT INTO rewind_accountchange ({writing.COLUMNS})"
        f" SELECT {writing.COLUMNS} FROM rewind_unsealed ON CONFLICT DO NOTHING"
    )
    return True


def forget_restored() -> None:
    """Of what was restored only rows stay that say otherwise now than what is sealed."""
    compared = ("kind", "lamports", "rent_epoch", "owner_id", "executable", "data")
    mine, sealed = (", ".join(f"{of}.{name}" for name in compared) for of in ("change", "copy"))
    execute(
        "DELETE FROM rewind_accountchange AS change USING rewind_unsealed AS copy"
        " WHERE change.pubkey = copy.pubkey AND change.slot = copy.slot"
        f" AND change.position = copy.position AND ({mine}) IS NOT DISTINCT FROM ({sealed})"
    )


def _covering(slot: int) -> list[tuple[int, ...]]:
    return fetch_all(f"{_ACTIVE} AND first_slot <= $1 AND last_slot >= $1", slot)
