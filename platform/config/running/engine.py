"""What the database of DATABASE_URL must be: PostgreSQL 15 or newer, itself or behind a pooler.

A pooler passes on no timeouts that we ask for when we connect, and in transaction mode a SET of
ours would be the next client's: there they are defaults of the role in the database.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg import sql

from columns.poolers import is_pooled
from columns.queries import all_rows, execute
from columns.raw_queries import raw_connection

OLDEST = 15
_OPTIONS_REFUSED = "unsupported startup parameter"
_TRIES = 50


class UnfitDatabase(Exception):
    """The database is unsuitable; the text says why, and what to do."""


def require_fit() -> bool:
    """Whether the connection goes through a pooler. Raises UnfitDatabase, or OperationalError
    without a database.
    """
    try:
        raw = raw_connection()
    except OperationalError as error:
        if _OPTIONS_REFUSED not in str(error):
            raise
        raise UnfitDatabase(
            f"the pooler of DATABASE_URL refuses a startup parameter ({str(error).strip()}): set"
            " ignore_startup_parameters = options in pgbouncer.ini"
        ) from None
    version = server_version()
    if version < OLDEST:
        raise UnfitDatabase(
            f"PostgreSQL {OLDEST} or newer is needed, and DATABASE_URL leads to {version}"
        )
    encoding = raw.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise UnfitDatabase(f"the database's encoding is {encoding}: make one with ENCODING 'UTF8'")
    return is_pooled(raw)


def server_version() -> int:
    """PostgreSQL's, as 15 or 18."""
    return raw_connection().info.server_version // 10_000


def migrating(pooled: bool) -> Any:
    """A context in which statements take as long as they take: an index on a large table is no
    runaway statement.
    """
    if pooled:
        return connection.execute_wrapper(_without_timeouts)
    return _session_without_timeouts()


def keep_timeouts() -> None:
    """Behind a pooler: the timeouts of the settings are the role's in this database, and those of a
    new transaction. Raises UnfitDatabase where they are not.
    """
    wanted = {
        "statement_timeout": settings.STATEMENT_TIMEOUT_MS,
        "lock_timeout": settings.LOCK_TIMEOUT_MS,
    }
    if _of_role(wanted) != wanted:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            database = sql.Identifier(cursor.fetchone()[0])
            for name, value in wanted.items():
                statement = sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET {} = {}")
                cursor.execute(statement.format(database, sql.Identifier(name), sql.Literal(value)))
    for _ in range(_TRIES):
        try:
            if (found := _in_force(wanted)) == wanted:
                return
            _end_this_session()
        except (OperationalError, psycopg.OperationalError):
            pass  # the pooler had not seen the end of that session yet
        connection.close()
        time.sleep(0.1)
    raise UnfitDatabase(
        f"behind the pooler of DATABASE_URL {found} are in force, and the settings say {wanted}:"
        " something sets them there (connect_query, ALTER DATABASE), or old sessions are left:"
        " RECONNECT in the pooler's console"
    )


def forget_sessions() -> None:
    """Behind a pooler: idle sessions of this role in the database end. After a migration they may
    hold plans and temporary tables of before it.
    """
    execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user"
        " AND datname = current_database() AND state = 'idle' AND pid <> pg_backend_pid()"
    )


def _of_role(names: dict[str, int]) -> dict[str, int]:
    rows = all_rows(
        "SELECT unnest(setconfig) FROM pg_db_role_setting"
        " WHERE setrole = current_user::regrole AND setdatabase ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    found = dict(line.split("=", 1) for (line,) in rows)
    return {name: int(value) for name, value in found.items() if name in names and value.isdigit()}


def _in_force(names: dict[str, int]) -> dict[str, int]:
    return dict(
        all_rows("SELECT name, setting::int FROM pg_settings WHERE name = ANY(%s)", [list(names)])
    )


def _end_this_session() -> None:
    """The session of the pooler that we are given now is one of before."""
    execute("SELECT pg_terminate_backend(pg_backend_pid())")


@contextmanager
def _session_without_timeouts() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET lock_timeout = 0")
    yield
    connection.close()


def _without_timeouts(
    execute: Any, statement: Any, parameters: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Before each statement of a transaction; one outside of any has the role's timeouts."""
    if connection.in_atomic_block and not connection.needs_rollback:
        with raw_connection().cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL lock_timeout = 0")
    return execute(statement, parameters, many, context)
