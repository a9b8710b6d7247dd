"""A second database of the test server, as a restored backup: some tables with their rows."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection

from tests.databases import end_sessions, this_database


@contextmanager
def second_database(*tables: str) -> Iterator[str]:
    """Its DATABASE_URL: these tables are there too, with the rows that they have now."""
    name = f"copy_{secrets.token_hex(4)}"
    with psycopg.connect(this_database("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            _fill(name, tables)
            yield this_database(name)
        finally:
            # WITH (FORCE) is refused to a plain role while autovacuum is in there.
            end_sessions(name)
            server.execute(f"DROP DATABASE {name}")


def _fill(name: str, tables: tuple[str, ...]) -> None:
    with psycopg.connect(this_database(name)) as copy, connection.cursor() as cursor:
        for table in tables:
            cursor.execute(
                "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', '"
                " ORDER BY attnum), string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute"
                " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
                [table],
            )
            columns, names = cursor.fetchone()
            copy.execute(f"CREATE TABLE {table} ({columns})")
            cursor.execute(f"SELECT {names} FROM {table}")
            marks = ", ".join(["%s"] * len(names.split(", ")))
            with copy.cursor() as into:
                into.executemany(
                    f"INSERT INTO {table} ({names}) VALUES ({marks})", cursor.fetchall()
                )
