"""Spreads tables over the nodes of a Citus cluster, once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction

from columns.advisory_locks import AdvisoryLock, wait_for
from columns.queries import all_rows, execute, first_row


class Spread(NamedTuple):
    """A table and the column that says on which node a row lies. Every key of a spread table has
    this column: `changes` are the statements that give it to those that have not. Rows of equal
    values of it lie on the same node as those of `beside`.
    """

    table: str
    column: str
    changes: Sequence[str] = ()
    beside: str | None = None


def has_extension() -> bool:
    """Whether the database has the extension."""
    return bool(_value("SELECT count(*) FROM pg_extension WHERE extname = 'citus'"))


def is_available() -> bool:
    """Whether the server could give the extension to the database."""
    return bool(_value("SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'"))


def workers() -> int:
    """Active nodes that take rows, beside the coordinator."""
    return int(_value("SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards") or 0)


def other_than(wanted: Mapping[str, str]) -> list[str]:
    """The settings that the session has with other values."""
    return [
        name
        for name, value in wanted.items()
        if _value(f"SELECT current_setting('{name}', true)") != value
    ]


def spread_tables() -> set[str]:
    """The names of tables that are spread, without partitions."""
    rows = all_rows(
        "SELECT c.relname FROM pg_dist_partition AS d JOIN pg_class AS c"
        " ON c.oid = d.logicalrelid WHERE d.partmethod = 'h' AND NOT c.relispartition"
    )
    return {name for (name,) in rows}


def is_spread(table: str) -> bool:
    return has_extension() and table in spread_tables()


def has_rows(table: str) -> bool:
    return _value(f"SELECT 1 FROM {table} LIMIT 1") is not None


def spread(each: Spread) -> bool:
    """The table and all of its rows are spread; False where it was already. Reads go on, and its
    writers wait until the rows are copied.
    """
    with transaction.atomic():
        execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        wait_for(AdvisoryLock.SPREADING_TABLES)
        if each.table in spread_tables():
            return False
        for change in each.changes:
            execute(change)
        execute(
            "SELECT create_distributed_table(%s::regclass, %s, colocate_with => %s)",
            [each.table, each.column, each.beside or "none"],
        )
        # The coordinator keeps the rows of before, which no one reads any more.
        execute("SELECT truncate_local_data_after_distributing_table(%s::regclass)", [each.table])
    return True


def _value(query: str) -> Any:
    row = first_row(query)
    return None if row is None else row[0]
