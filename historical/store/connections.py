"""The psycopg connection under Django's, for the queries whose speed is the product."""

from typing import Any

import psycopg
from django.db import connection


def raw_connection() -> psycopg.Connection[Any]:
    """This thread's connection, inside whatever transaction Django has open on it."""
    connection.ensure_connection()
    return connection.connection  # type: ignore[no-any-return]


def fetch_one(sql: str, parameters: tuple[Any, ...]) -> Any:
    """The first row of a prepared query, in binary, or None."""
    with psycopg.Cursor(raw_connection()) as cursor:
        return cursor.execute(sql, parameters, prepare=True, binary=True).fetchone()


def fetch_all(sql: str, parameters: tuple[Any, ...]) -> list[Any]:
    """Every row of a prepared query, in binary."""
    with psycopg.Cursor(raw_connection()) as cursor:
        return cursor.execute(sql, parameters, prepare=True, binary=True).fetchall()
