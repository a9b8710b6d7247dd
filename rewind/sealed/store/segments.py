"""Which accounts occur in which segments of slots, so that a read leaves out all the others.

A row is of many segments: a row of each would take a twentieth of what mainnet's archive does. It
may claim slots that hold the account no longer; none is missing in a segment that is indexed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import F, Value
from django.db.models.functions import Greatest

from columns.advisory_locks import AdvisoryLock, try_for
from columns.clusters import is_clustered
from columns.queries import execute
from columns.raw_queries import fetch_all, fetch_one, fetch_together
from rewind.models import ArchiveState
from rewind.recording.store import partitions

# What goes through all accounts goes by so many parts of their pubkeys, a transaction each.
SLICES = 256
_SEGMENTS_OF_ROW = 64


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
    """Where a writer writes: the lowest and the highest slot of each account and segment."""

    def __init__(self) -> None:
        self._added: dict[tuple[bytes, int], tuple[int, int]] = {}

    def add(self, pubkey: bytes, slot: int) -> None:
        key = pubkey, partitions.segment_of(slot)
        first, last = self._added.get(key, (slot, slot))
        self._added[key] = min(first, slot), max(last, slot)

    def places(self) -> list[tuple[bytes, int, int]]:
        """(pubkey, first slot, last slot), in one order for all, so that none wait in ring."""
        return sorted((pubkey, *ends) for (pubkey, _), ends in self._added.items())


# A row of `last`, or none. An account has few rows: one in four months.
NEWEST = (
    "SELECT last.slot FROM rewind_accountsegments AS s, unnest(s.last_slots) AS last (slot)"
    " WHERE s.pubkey = {key} AND last.slot < {below} ORDER BY last.slot DESC LIMIT 1"
)
_ONE = NEWEST.format(key="$1", below="$2")
_SEVERAL = (
    "SELECT k.pubkey, s.slot FROM unnest((SELECT $1), (SELECT $2)) AS k (pubkey, below),"
    f" LATERAL ({NEWEST.format(key='k.pubkey', below='k.below')}) AS s"
)


def _insert(places: str) -> str:
    """The statement that takes rows (pubkey, first_slot, slot), one for each segment at most."""
    segment = partitions.SEGMENT_SLOTS
    return (
        "INSERT INTO rewind_accountsegments AS stored (pubkey, run, first_slot, last_slots)"
        f" SELECT pubkey, slot / {_SEGMENTS_OF_ROW * segment}, min(first_slot),"
        " array_agg(slot ORDER BY slot)"
        f" FROM ({places}) AS p GROUP BY 1, 2 ORDER BY 1, 2"
        " ON CONFLICT (pubkey, run) DO UPDATE SET"
        " first_slot = least(stored.first_slot, excluded.first_slot), last_slots ="
        f" rewind_last_slots(stored.last_slots || excluded.last_slots, {segment})"
    )


def keep_new() -> str:
    """The end of a statement that begins `WITH new AS (INSERT … RETURNING pubkey)`, rows of one
    slot: they are found. Its value is how many they are.
    """
    new = (
        "SELECT pubkey, %(slot)s::bigint AS first_slot, %(slot)s::bigint AS slot FROM new"
        " WHERE %(is_kept)s"
    )
    return f", found AS ({_insert(new)}) SELECT count(*) FROM new"


def newest_below(pubkey: bytes, segment: int) -> Occurrence | None:
    """The newest indexed segment below that one that the account is in."""
    row = fetch_one(_ONE, pubkey, segment * partitions.SEGMENT_SLOTS)
    return None if row is None else _occurrence(row[0])


def _occurrence(slot: int) -> Occurrence:
    return Occurrence(partitions.segment_of(slot), slot)


def newest_of_each(below: dict[bytes, int]) -> dict[bytes, Occurrence]:
    """The same of several accounts, each with its own segment."""
    slots = [segment * partitions.SEGMENT_SLOTS for segment in below.values()]
    if is_clustered():
        asked = zip(below, slots, strict=True)
        several = fetch_together([(_ONE, *each) for each in asked])
        return {
            pubkey: _occurrence(rows[0][0])
            for pubkey, rows in zip(below, several, strict=True)
            if rows
        }
    rows = fetch_all(_SEVERAL, list(below), slots)
    return {pubkey: _occurrence(slot) for pubkey, slot in rows}


def kept() -> int:
    """Writers of rows in segments below it call `keep`, in the same transaction and under
    slots.lock_for_writing.
    """
    found = fetch_one("SELECT kept_segments FROM rewind_archivestate")
    return 0 if found is None else int(found[0])


def keep(occurrences: Occurrences) -> None:
    """What was written is found."""
    keep_places(occurrences.places())


def keep_places(places: Sequence[tuple[bytes, int, int]]) -> None:
    """Accounts with their first and last slots in each segment."""
    if not places:
        return
    given = (
        "SELECT * FROM unnest(%s::bytea[], %s::bigint[], %s::bigint[])"
        " AS given (pubkey, first_slot, slot)"
    )
    execute(_insert(given), list(map(list, zip(*places, strict=True))))


def kept_terms(slot: int) -> dict[str, int | bool]:
    """What `keep_new` asks for."""
    return {"slot": slot, "is_kept": partitions.segment_of(slot) < kept()}


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
    return try_for(AdvisoryLock.ACCOUNT_INDEX)


def index_slice(segment: int, number: int) -> None:
    """The slice's accounts that are in the segment have their rows."""
    low, high = slice_bounds(number)
    first = segment * partitions.SEGMENT_SLOTS
    written = (
        "SELECT pubkey, min(slot) AS first_slot, max(slot) AS slot FROM rewind_accountchange"
        " WHERE slot >= %(first)s AND slot < %(end)s"
        " AND pubkey >= %(low)s AND (%(high)s::bytea IS NULL OR pubkey < %(high)s)"
        " GROUP BY pubkey"
    )
    execute(
        _insert(written),
        {
            "first": first,
            "end": first + partitions.SEGMENT_SLOTS,
            "low": low,
            "high": high,
        },
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
    """Deletes the slice's rows whose segments are all below that one."""
    low, high = slice_bounds(number)
    execute(
        "DELETE FROM rewind_accountsegments WHERE last_slots[cardinality(last_slots)] < %s"
        " AND pubkey >= %s AND (%s::bytea IS NULL OR pubkey < %s)",
        [segment * partitions.SEGMENT_SLOTS, low, high, high],
    )
