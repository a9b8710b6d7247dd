"""One statement on Django's connection, with its parameters as %s. Hot reads are prepared instead,
in columns.raw_queries.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

Parameters = Sequence[Any] | Mapping[str, Any] | None


def execute(sql: str, parameters: Parameters = None) -> int:
    """Returns how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return int(cursor.rowcount)


def all_rows(sql: str, parameters: Parameters = None) -> list[Any]:
    """Every row, as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def first_row(sql: str, parameters: Parameters = None) -> Any:
    """The first row; None without any."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()


def lift_timeouts() -> None:
    """For this transaction: a write takes as long as it takes."""
    execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
