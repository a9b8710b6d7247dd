"""Which accounts occur in which segments of slots, so that a read leaves out all the others.

A row may claim slots that hold the account no longer; none is missing in a segment that is indexed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Greatest

from columns.clusters import is_clustered
from columns.raw_queries import fetch_all, fetch_one, fetch_together
from rewind.models import ArchiveState
from rewind.store import partition_cache, partitions

# The first half of an advisory lock's name, so that no other lock has ours.
_LOCK = 7_307
# What goes through all accounts goes by so many parts of their pubkeys, a transaction each.
SLICES = 256


class Occurrence(NamedTuple):
    """A segment that an account is in, and its highest slot there."""

    segment: int
    last_slot: int


class Progress(NamedTuple):
    """Segments below `indexed` are; of the next one, so many slices are; below `kept` writers see
    to their own rows.
    """

    indexed: int
    slices: int
    kept: int


class Occurrences:
    """Where a writer writes: of each account and segment the lowest slot, the highest, and how
    many rows.
    """

    def __init__(self) -> None:
        self._added: dict[tuple[bytes, int], tuple[int, int, int]] = {}

    def add(self, pubkey: bytes, slot: int) -> None:
        key = pubkey, partition_cache.segment_of(slot)
        first, last, changes = self._added.get(key, (slot, slot, 0))
        self._added[key] = min(first, slot), max(last, slot), changes + 1

    def rows(self) -> list[tuple[bytes, int, int, int, int]]:
        """In one order for all, so that none wait in ring."""
        return [(*key, *added) for key, added in sorted(self._added.items())]


_NEWEST = (
    "SELECT segment, last_slot FROM rewind_accountsegment"
    " WHERE pubkey = {key} AND segment < {below} ORDER BY segment DESC LIMIT 1"
)
_ONE = _NEWEST.format(key="$1", below="$2")
_SEVERAL = (
    "SELECT k.pubkey, s.segment, s.last_slot FROM unnest($1, $2) AS k (pubkey, below),"
    f" LATERAL ({_NEWEST.format(key='k.pubkey', below='k.below')}) AS s"
)
_KEEP = (
    " ON CONFLICT (pubkey, segment) DO UPDATE SET"
    " first_slot = least(stored.first_slot, excluded.first_slot),"
    " last_slot = greatest(stored.last_slot, excluded.last_slot)"
)
_TABLE = "rewind_accountsegment AS stored (pubkey, segment, first_slot, last_slot, changes)"

# The end of a statement that begins `WITH new AS (INSERT … RETURNING pubkey)`, rows of one slot:
# they are found. Its value is how many they are.
KEEP_NEW = (
    f", found AS (INSERT INTO {_TABLE} SELECT pubkey, %(segment)s, %(slot)s, %(slot)s, 1 FROM new"
    f" WHERE %(is_kept)s ORDER BY pubkey{_KEEP}) SELECT count(*) FROM new"
)


def newest_below(pubkey: bytes, segment: int) -> Occurrence | None:
    """The newest indexed segment below that one that the account is in."""
    row = fetch_one(_ONE, pubkey, segment)
    return None if row is None else Occurrence(*row)


def newest_of_each(below: dict[bytes, int]) -> dict[bytes, Occurrence]:
    """The same of several accounts, each with its own segment."""
    if is_clustered():
        several = fetch_together([(_ONE, *each) for each in below.items()])
        return {
            pubkey: Occurrence(*rows[0])
            for pubkey, rows in zip(below, several, strict=True)
            if rows
        }
    rows = fetch_all(_SEVERAL, list(below), list(below.values()))
    return {pubkey: Occurrence(segment, slot) for pubkey, segment, slot in rows}


def kept() -> int:
    """Writers of rows in segments below it call `keep`, in the same transaction and under
    slots.lock_for_writing.
    """
    found = fetch_one("SELECT kept_segments FROM rewind_archivestate")
    return 0 if found is None else int(found[0])


def keep(occurrences: Occurrences) -> None:
    """What was written is found."""
    rows = occurrences.rows()
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} SELECT * FROM unnest(%s::bytea[], %s::int[], %s::bigint[],"
            f" %s::bigint[], %s::int[]){_KEEP}, changes = stored.changes + excluded.changes",
            list(map(list, zip(*rows, strict=True))),
        )


def kept_terms(slot: int) -> dict[str, int | bool]:
    """What KEEP_NEW asks for."""
    segment = partition_cache.segment_of(slot)
    return {"slot": slot, "segment": segment, "is_kept": segment < kept()}


def slice_bounds(number: int) -> tuple[bytes, bytes | None]:
    """A slice's pubkeys are from the first on and, if there is a second, below that."""
    low, high = number * 256 // SLICES, (number + 1) * 256 // SLICES
    return bytes([low]), None if high == 256 else bytes([high])


def progress() -> Progress:
    found = ArchiveState.objects.values_list("indexed_segments", "indexed_slices", "kept_segments")
    row = found.first()
    return Progress(0, 0, 0) if row is None else Progress(*row)


def keep_below(segment: int) -> None:
    """From the transaction's end on writers see to their rows below the segment. No writer may be
    at work: under slots.lock_window.
    """
    ArchiveState.objects.filter(id=1).update(
        kept_segments=Greatest(F("kept_segments"), Value(segment))
    )


def claim_slice() -> bool:
    """Locks indexing until the transaction ends; False when another worker has the lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, 0)", [_LOCK])
        (is_ours,) = cursor.fetchone()
    return bool(is_ours)


def index_slice(segment: int, number: int) -> None:
    """The slice's accounts that are in the segment have their rows."""
    low, high = slice_bounds(number)
    first = segment * partition_cache.SEGMENT_SLOTS
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} SELECT pubkey, %(segment)s, min(slot), max(slot), count(*)"
            " FROM rewind_accountchange WHERE slot >= %(first)s AND slot < %(end)s"
            " AND pubkey >= %(low)s AND (%(high)s::bytea IS NULL OR pubkey < %(high)s)"
            f" GROUP BY pubkey ORDER BY pubkey{_KEEP},"
            " changes = greatest(stored.changes, excluded.changes)",
            {
                "segment": segment,
                "first": first,
                "end": first + partition_cache.SEGMENT_SLOTS,
                "low": low,
                "high": high,
            },
        )


def index_sealed(segment: int, accounts: Iterable[tuple[bytes, int, int, int]]) -> None:
    """Accounts with the first and the last slot of their sealed changes in the segment, and how
    many these are, have their rows.
    """
    rows = [(pubkey, segment, first, last, changes) for pubkey, first, last, changes in accounts]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} SELECT * FROM unnest(%s::bytea[], %s::int[], %s::bigint[],"
            f" %s::bigint[], %s::int[]){_KEEP}, changes = greatest(stored.changes,"
            " excluded.changes)",
            list(map(list, zip(*rows, strict=True))),
        )


def slice_done(segment: int, slices: int) -> None:
    """So many slices of the segment are indexed; with the last one the segment is."""
    state = ArchiveState.objects.filter(id=1)
    if slices < SLICES:
        state.update(indexed_segments=segment, indexed_slices=slices)
        return
    state.update(indexed_segments=segment + 1, indexed_slices=0)
    partitions.note_layout()


def forget_below(segment: int, number: int) -> None:
    """Deletes the slice's rows of segments below that one."""
    low, high = slice_bounds(number)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM rewind_accountsegment WHERE segment < %s AND pubkey >= %s"
            " AND (%s::bytea IS NULL OR pubkey < %s)",
            [segment, low, high, high],
        )
