"""A second database of the test server, as a restored backup: some tables with their rows."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from psycopg.conninfo import make_conninfo


def _address(name: str) -> str:
    found = connection.get_connection_params()
    keys = ("host", "port", "user", "password")
    return make_conninfo(dbname=name, **{key: found[key] for key in keys if found.get(key)})


@contextmanager
def second_database(*tables: str) -> Iterator[str]:
    """Its URL: these tables are there too, with the rows that they have now."""
    name = f"copy_{secrets.token_hex(4)}"
    with psycopg.connect(_address("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            _fill(name, tables)
            yield _address(name)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _fill(name: str, tables: tuple[str, ...]) -> None:
    with psycopg.connect(_address(name)) as copy, connection.cursor() as cursor:
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
