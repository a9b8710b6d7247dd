"""Partitions of the account changes: 36,000 slots each, about four hours, made when first needed.

They are made apart and then attached: CREATE TABLE … PARTITION OF would lock every reader out.
"""

from collections.abc import Iterable
from typing import NamedTuple

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from columns.raw_queries import fetch_all
from rewind.models import ArchiveState

PARTITION_SLOTS = 36_000

# The first half of an advisory lock's name, so that no other lock has ours.
_LOCK = 7_302
_LONGEST_WAIT_MS = 1_000


class Partition(NamedTuple):
    """The slots from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def table(self) -> str:
        return f"rewind_changes_{self.first}_{self.last}"

    @classmethod
    def of_table(cls, name: str) -> "Partition":
        first, last = name.split("_")[2:4]
        return cls(int(first), int(last))


def partition_of(slot: int) -> Partition:
    first = slot - slot % PARTITION_SLOTS
    return Partition(first, first + PARTITION_SLOTS - 1)


def ensure(slots: Iterable[int]) -> None:
    """The slots' partitions are there, until the transaction is rolled back."""
    wanted = sorted({partition_of(slot) for slot in slots})
    if not wanted or len(_there(wanted)) == len(wanted):
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [_LOCK])
        there = _there(wanted)  # another writer may have made it while we waited
        for partition in wanted:
            if partition not in there:
                _make(partition)
        note_layout()


def existing() -> list[Partition]:
    """All partitions, lowest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid"
            " WHERE inhparent = 'rewind_accountchange'::regclass"
        )
        names = [name for (name,) in cursor.fetchall()]
    return sorted(map(Partition.of_table, names))


def drop(partition: Partition) -> bool:
    """Its rows are gone, at once and without a trace. False when others were at it for too long:
    waiting for this lock keeps every reader of the archive waiting behind it.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {_LONGEST_WAIT_MS}")
            cursor.execute(f"DROP TABLE {partition.table}")
            note_layout()
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True


def _there(wanted: list[Partition]) -> set[Partition]:
    rows = fetch_all(
        "SELECT relname::text FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid"
        " WHERE inhparent = 'rewind_accountchange'::regclass AND relname IN"
        " (SELECT convert_from(wanted, 'UTF8') FROM unnest($1) AS wanted)",
        [partition.table.encode() for partition in wanted],
    )
    names = {name for (name,) in rows}
    return {partition for partition in wanted if partition.table in names}


def note_layout() -> None:
    """Processes that remember the partitions read them again."""
    ArchiveState.objects.get_or_create(id=1)
    with connection.cursor() as cursor:
        # A time: what is rolled back leaves no number that another change could have.
        cursor.execute(
            "UPDATE rewind_archivestate SET layout = greatest(layout + 1,"
            " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
        )


def _make(partition: Partition) -> None:
    table, first, end = partition.table, partition.first, partition.last + 1
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE {table} (LIKE rewind_accountchange INCLUDING ALL,"
            f" CONSTRAINT {table}_range CHECK (slot >= {first} AND slot < {end}))"
        )
        cursor.execute(f"CREATE UNIQUE INDEX {table}_key ON {table} (pubkey, slot, position)")
        cursor.execute(
            f"ALTER TABLE rewind_accountchange ATTACH PARTITION {table}"
            f" FOR VALUES FROM ({first}) TO ({end})"
        )
        # It only spared ATTACH the look through the rows; the partition's bounds say the same.
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_range")
