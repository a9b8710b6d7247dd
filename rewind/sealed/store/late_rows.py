"""Rows that come to partitions while these are being sealed: which they are, and where they lie
until readers change over.

On a single PostgreSQL a trigger notes them. The nodes of a cluster have no table of the
coordinator's, so there the writing transaction notes its keys itself, or too many of them.
"""

from collections.abc import Iterable, Sequence

from django.db import connection

from columns.clusters import is_clustered
from columns.queries import all_rows, execute
from columns.raw_queries import fetch_one
from rewind.recording.store.partitions import PARTITION_SLOTS, Partition

_TRIGGER = "rewind_note_late_row"
_NOTED = "INSERT INTO rewind_laterow (pubkey, slot, position)"
# A key in the order of its columns.
Place = tuple[bytes, int, int]


def watch(tables: Iterable[str]) -> None:
    """From the transaction's end on, what is written to the partitions is noted."""
    if is_clustered():
        return
    for table in tables:
        execute(
            f"CREATE TRIGGER {_TRIGGER} AFTER INSERT OR UPDATE ON {table}"
            f" FOR EACH ROW EXECUTE FUNCTION {_TRIGGER}()"
        )


def unwatch(tables: Iterable[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE tgname = %s AND relname = ANY(%s)",
            [_TRIGGER, list(tables)],
        )
        for (table,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER IF EXISTS {_TRIGGER} ON {table}")


def being_sealed() -> tuple[int, int] | None:
    """The first and the last slot whose rows a writer has to note itself."""
    if not is_clustered():
        return None
    return fetch_one(
        "SELECT first_slot, last_slot FROM rewind_sealedsegment WHERE state = 0 LIMIT 1"
    )


def note(places: Sequence[Place]) -> None:
    if not places:
        return
    execute(
        f"{_NOTED} SELECT * FROM unnest(%s::bytea[], %s::bigint[], %s::int[])"
        " ON CONFLICT DO NOTHING",
        list(map(list, zip(*places, strict=True))),
    )


def note_staged() -> None:
    """The rows that are about to be written from rewind_staged, as far as they are to be noted."""
    span = being_sealed()
    if span is not None:
        execute(
            f"{_NOTED} SELECT DISTINCT pubkey, slot, position FROM rewind_staged"
            " WHERE slot BETWEEN %s AND %s ON CONFLICT DO NOTHING",
            span,
        )


def note_place(slot: int, position: int) -> None:
    """All rows at the place, if its slot is being sealed."""
    span = being_sealed()
    if span is not None and span[0] <= slot <= span[1]:
        stored = all_rows(
            "SELECT pubkey, slot, position FROM rewind_accountchange"
            " WHERE slot = %s AND position = %s",
            [slot, position],
        )
        rows = [(bytes(pubkey), *place) for pubkey, *place in stored]
        note(rows)


def keep(tables: Sequence[str], first_slot: int, last_slot: int) -> list[int]:
    """The noted rows of the partitions lie aside; the first slots of their partitions."""
    if not tables:
        return []
    execute("DROP TABLE IF EXISTS rewind_late_kept")
    execute(
        "CREATE TEMPORARY TABLE rewind_late_kept"
        " (LIKE rewind_accountchange INCLUDING STORAGE) ON COMMIT DROP"
    )
    for partition in map(Partition.of_table, tables):
        execute(
            "WITH late AS MATERIALIZED (SELECT pubkey, slot, position FROM rewind_laterow"
            " WHERE slot BETWEEN %s AND %s)"
            " INSERT INTO rewind_late_kept SELECT change.* FROM late"
            f" JOIN {partition.table} AS change USING (pubkey, slot, position)",
            [max(first_slot, partition.first), min(last_slot, partition.last)],
        )
    return [
        number * PARTITION_SLOTS
        for (number,) in all_rows(f"SELECT DISTINCT slot / {PARTITION_SLOTS} FROM rewind_late_kept")
    ]


def put_back(columns: str) -> None:
    """What lies aside is in the archive again; its partitions are there."""
    execute(f"INSERT INTO rewind_accountchange ({columns}) SELECT {columns} FROM rewind_late_kept")


def forget(first_slot: int, last_slot: int) -> None:
    execute("DELETE FROM rewind_laterow WHERE slot BETWEEN %s AND %s", [first_slot, last_slot])
