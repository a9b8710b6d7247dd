"""Empties the tables after a test that commits: only those that have rows.

Django truncates every table and then makes all content types, permissions and groups again, which
takes longer than most of these tests.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.core.management import call_command
from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected

# The ledger's blocks, sealed or not, with all that leads to them.
LEDGER_TABLES = [
    f"historical_{name}"
    for name in (
        "block",
        "transaction",
        "addressentries",
        "blocktally",
        "sealedrange",
        "sealedblock",
        "packedtexts",
        "indexrun",
        "packedindex",
        "sealversion",
    )
]
# What a migration fills at its end (`post_migrate`), the same each time.
_MADE_BY_MIGRATION = (
    "django_content_type",
    "auth_permission",
    "auth_group",
    "auth_group_permissions",
)
_digest_of_made: list[str | None] = []


def empty_tables() -> None:
    """What `flush` leaves, for the database of the tests."""
    from columns import generations

    if not _digest_of_made or _digest() != _digest_of_made[0]:
        call_command("flush", verbosity=0, interactive=False, reset_sequences=False)
        _digest_of_made[:] = [_digest()]
        return
    with connection.cursor() as cursor:
        # A table that was never written since it was emptied has no page. To plan a look into each
        # takes PostgreSQL longer than all else here; of a partitioned one, the pages are elsewhere.
        cursor.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE oid = ANY(%s::oid[])"
            " AND (relkind = 'p' OR pg_relation_size(oid) > 0)",
            [_emptied()],
        )
        written = [name for (name,) in cursor.fetchall()]
        if written:
            _truncate(cursor, written)
    generations.move_all()


def _truncate(cursor: Any, tables: Sequence[str]) -> None:
    """Once more where a service that still runs wrote to two of them in another order: PostgreSQL
    ends either.
    """
    statement = f"TRUNCATE {', '.join(tables)} CASCADE"
    try:
        cursor.execute(statement)
    except OperationalError as error:
        if not isinstance(error.__cause__, DeadlockDetected):
            raise
        cursor.execute(statement)


def truncate_filled(tables: Sequence[str]) -> bool:
    """Truncates the tables if one of them has a row, and returns whether one had: to truncate ten,
    which makes files for each of them and their indexes, takes PostgreSQL 10 ms, to read them 0.3.
    """
    with connection.cursor() as cursor:
        for name in tables:
            cursor.execute(f"SELECT 1 FROM {name} LIMIT 1")
            if cursor.fetchone():
                cursor.execute(f"TRUNCATE {', '.join(tables)}")
                return True
    return False


def teardown(test_case: Any) -> None:
    """In the place of TransactionTestCase._fixture_teardown."""
    empty_tables()


@cache
def _emptied() -> list[int]:
    """By their numbers: all tables of models but those that a migration fills."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    quoted = [connection.ops.quote_name(each) for each in names if each not in _MADE_BY_MIGRATION]
    with connection.cursor() as cursor:
        cursor.execute("SELECT name::regclass::oid FROM unnest(%s::text[]) AS name", [quoted])
        return [oid for (oid,) in cursor.fetchall()]


def _digest() -> str | None:
    rows = " UNION ALL ".join(
        f"SELECT '{name}' || t::text AS row FROM {name} t" for name in _MADE_BY_MIGRATION
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT md5(string_agg(row, ' ' ORDER BY row)) FROM ({rows}) rows")
        digest: str | None = cursor.fetchone()[0]
    return digest
