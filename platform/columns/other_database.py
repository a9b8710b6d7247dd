"""Another database of the same tables, a replica or a restored backup, which is only read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

_CONNECT_SECONDS = 10


class OtherDatabaseUnavailable(Exception):
    """The other database cannot be read, or does not have these tables."""


class OtherDatabase:
    """Each read raises OtherDatabaseUnavailable."""

    def __init__(self, connection: psycopg.Connection[Any], name: str) -> None:
        self._connection = connection
        self.name = name

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """All rows; the parameters are %s."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except psycopg.Error as error:
            raise OtherDatabaseUnavailable(_text(error)) from None

    def each_row(self, sql: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """The same, some in memory at once."""
        try:
            with (
                self._connection.transaction(),
                self._connection.cursor("tidemark_rows") as cursor,
            ):
                yield from cursor.execute(sql, parameters)
        except psycopg.Error as error:
            raise OtherDatabaseUnavailable(_text(error)) from None


@contextmanager
def opened(url: str) -> Iterator[OtherDatabase]:
    """The database at the URL. Raises OtherDatabaseUnavailable."""
    try:
        parts = conninfo_to_dict(url)
        connection = psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
        connection.read_only = True
    except psycopg.Error as error:
        raise OtherDatabaseUnavailable(_text(error)) from None
    name = f"database {parts.get('dbname') or ''} at {parts.get('host') or 'this machine'}"
    try:
        yield OtherDatabase(connection, name)
    finally:
        connection.close()


def _text(error: psycopg.Error) -> str:
    return str(error).strip() or type(error).__name__
