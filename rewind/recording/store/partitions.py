"""Partitions of the account changes: 36,000 slots each, about four hours, made when first needed.
What a process knows of them is their layout: querying them would cost more than a read.

They are made apart and then attached: CREATE TABLE … PARTITION OF would lock every reader out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from django.db import OperationalError, transaction
from psycopg.errors import ActiveSqlTransaction, LockNotAvailable

from columns import clusters
from columns.advisory_locks import AdvisoryLock, wait_for
from columns.queries import all_rows, execute
from columns.raw_queries import fetch_one
from rewind.models import ArchiveState

PARTITION_SLOTS = 36_000
# Slots whose partitions one statement reads: an epoch of mainnet's.
SEGMENT_SLOTS = 432_000

# Shorter than deadlock_timeout: a reader that holds a partition may wait for the parent, which we
# hold; then we give up before PostgreSQL ends one of the two.
_LONGEST_WAIT_MS = 300


class Partition(NamedTuple):
    """The slots from `first` to `last`, both included. Once its rows were sealed the table is
    dropped; one that takes late rows has a `turn`, so that no name is ever given twice.
    """

    first: int
    last: int
    turn: int = 0

    @property
    def table(self) -> str:
        name = f"rewind_changes_{self.first}_{self.last}"
        return f"{name}_{self.turn}" if self.turn else name

    @classmethod
    def of_table(cls, name: str) -> "Partition":
        return cls(*map(int, name.split("_")[2:]))


class Sealed(NamedTuple):
    """A sealed segment: its number, and the slots from `first` to `last`, both included."""

    id: int
    first: int
    last: int


class Segment(NamedTuple):
    """The partitions of a run of SEGMENT_SLOTS slots, newest first, and what of it is sealed. A
    partition over sealed slots has late rows: where both have a row of one key, its row counts.
    """

    number: int
    partitions: tuple[Partition, ...]
    sealed: tuple[Sealed, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(partition.table for partition in self.partitions)


class Layout(NamedTuple):
    """The segments that have a partition or sealed slots, newest first; slots below `first_kept`
    fell out of the window, and sealed/store/segments.py has the accounts of each segment below
    `indexed`.
    """

    number: int
    first_kept: int
    indexed: int
    segments: tuple[Segment, ...]
    by_number: Mapping[int, Segment]


_known: Layout | None = None

_LAYOUT = """
SELECT coalesce(layout, 0), coalesce(first_kept_slot, 0), coalesce(indexed_segments, 0), (
    SELECT string_agg(relname, ' ') FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'rewind_accountchange'::regclass
), (
    SELECT string_agg(id || ':' || first_slot || ':' || last_slot, ' ' ORDER BY first_slot DESC)
    FROM rewind_sealedsegment WHERE state = 1
)
FROM (SELECT) AS one LEFT JOIN rewind_archivestate ON true
"""


def partition_of(slot: int) -> Partition:
    first = slot - slot % PARTITION_SLOTS
    return Partition(first, first + PARTITION_SLOTS - 1)


def ensure(slots: Iterable[int]) -> None:
    """The slots' partitions are there, until the transaction is rolled back."""
    wanted = sorted({partition_of(slot).first for slot in slots})
    if not wanted or len(_there(wanted)) == len(wanted):
        return
    wait_for(AdvisoryLock.ARCHIVE_PARTITIONS)
    there = _there(wanted)  # another writer may have made it while we waited
    for first in wanted:
        if first not in there:
            _make(Partition(first, first + PARTITION_SLOTS - 1, _turn(first)))
    note_layout()


def existing() -> list[Partition]:
    """All partitions, lowest first."""
    rows = all_rows(
        "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid"
        " WHERE inhparent = 'rewind_accountchange'::regclass"
    )
    names = [name for (name,) in rows]
    return sorted(map(Partition.of_table, names))


def drop(partition: Partition) -> bool:
    """Its rows are gone, at once and without a trace. False when others were at it for too long:
    waiting for this lock keeps every reader of the archive waiting behind it.
    """
    try:
        with transaction.atomic():
            drop_in_transaction([partition])
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True


def drop_in_transaction(several: Sequence[Partition]) -> None:
    """Their rows are gone with the transaction. Raises OperationalError by LockNotAvailable when
    others were at them for too long.
    """
    note_layout()
    if not several:
        return
    execute(f"SET LOCAL lock_timeout = {_LONGEST_WAIT_MS}")
    clusters.let_reads_end()
    # One that was sealed meanwhile is gone already.
    execute(f"DROP TABLE IF EXISTS {', '.join(each.table for each in several)}")
    execute("SET LOCAL lock_timeout = 0")


def size_of(partition: Partition) -> int:
    """Bytes on disk, indexes included; 0 in a transaction that has written to a cluster already,
    which cannot ask its nodes.
    """
    try:
        with transaction.atomic():
            found = fetch_one(f"SELECT {clusters.total_size_of(partition.table)}")
    except ActiveSqlTransaction:
        return 0
    return 0 if found is None else int(found[0])


def _there(wanted: list[int]) -> set[int]:
    """Those of the first slots that have a partition."""
    return {each.first for each in existing()}.intersection(wanted)


def _turn(first: int) -> int:
    """0 for slots that were never sealed."""
    found = fetch_one(
        "SELECT CASE WHEN EXISTS (SELECT FROM rewind_sealedsegment WHERE first_slot <= $1"
        " AND last_slot >= $1) THEN nextval('rewind_partition_turns') ELSE 0 END",
        first,
    )
    assert found is not None
    return int(found[0])


def note_layout() -> None:
    """Processes that remember the partitions read them again."""
    ArchiveState.objects.get_or_create(id=1)
    # A time: what is rolled back leaves no number that another change could have.
    execute(
        "UPDATE rewind_archivestate SET layout = greatest(layout + 1,"
        " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    )


def _make(partition: Partition) -> None:
    table, first, end = partition.table, partition.first, partition.last + 1
    execute(
        f"CREATE TABLE {table} (LIKE rewind_accountchange INCLUDING ALL,"
        f" CONSTRAINT {table}_range CHECK (slot >= {first} AND slot < {end}))"
    )
    execute(f"CREATE UNIQUE INDEX {table}_key ON {table} (pubkey, slot, position)")
    execute(
        f"ALTER TABLE rewind_accountchange ATTACH PARTITION {table}"
        f" FOR VALUES FROM ({first}) TO ({end})"
    )
    # It only spared ATTACH the look through the rows; the partition's bounds say the same.
    execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_range")


def segment_of(slot: int) -> int:
    return slot // SEGMENT_SLOTS


def layout(number: int) -> Layout:
    """What is known when it is of that number, else what there is now."""
    global _known
    found = _known
    if found is None or found.number != number:
        found = _known = _read()
    return found


def has(layout: Layout, partition: Partition) -> bool:
    """Whether it is one of the layout's partitions."""
    segment = layout.by_number.get(segment_of(partition.first))
    return segment is not None and partition in segment.partitions


def highest(slot: int, layout: Layout) -> Segment | None:
    """The segment of the slot, or the next one below that has a partition."""
    number = segment_of(slot)
    own = layout.by_number.get(number)
    return own or next((each for each in layout.segments if each.number < number), None)


def known() -> Layout | None:
    """The layout as it was when last read; None before that."""
    return _known


def segments(slot: int, number: int) -> Iterator[Segment]:
    """Segments with a partition, from that of the slot downwards; those of a layout that is not
    known yet are read first.
    """
    highest = segment_of(slot)
    return (segment for segment in layout(number).segments if segment.number <= highest)


def forget() -> None:
    """The next reader reads the layout again: a known partition is gone."""
    global _known
    _known = None


def _read() -> Layout:
    row = fetch_one(_LAYOUT)
    assert row is not None
    number, first_kept, indexed, names, packed = row
    found: dict[int, tuple[list[Partition], list[Sealed]]] = {}
    for partition in sorted(map(Partition.of_table, (names or "").split()), reverse=True):
        found.setdefault(segment_of(partition.first), ([], []))[0].append(partition)
    for each in (packed or "").split():
        sealed = Sealed(*map(int, each.split(":")))
        found.setdefault(segment_of(sealed.first), ([], []))[1].append(sealed)
    run = tuple(
        Segment(segment, tuple(parts), tuple(sealed))
        for segment, (parts, sealed) in sorted(found.items(), reverse=True)
    )
    return Layout(number, first_kept, indexed, run, {each.number: each for each in run})
