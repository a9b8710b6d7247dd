"""Partitions of the account changes: 36,000 slots each, about four hours, made when first needed.

They are made apart and then attached: CREATE TABLE … PARTITION OF would lock every reader out.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db import OperationalError, transaction
from psycopg.errors import ActiveSqlTransaction, LockNotAvailable

from columns import clusters
from columns.advisory_locks import AdvisoryLock, wait_for
from columns.queries import all_rows, execute
from columns.raw_queries import fetch_one
from rewind.models import ArchiveState

PARTITION_SLOTS = 36_000

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
