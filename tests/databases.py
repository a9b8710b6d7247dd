"""A test's own database: its address, for processes that the test starts, and a lost session."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

_MIGRATED = "test_migrated"
# PostgreSQL 15 takes fewer trips, and only the processes of an embedded server share what they
# remember (columns/generations.py).
embedded = pytest.mark.skipif(
    bool(os.environ.get("TIDEMARK_TEST_DATABASE_URL")), reason="counts trips to our own PostgreSQL"
)


@contextmanager
def migrated_once(lock: Path) -> Iterator[None]:
    """Around the making of this process's test database: the first process migrates, which takes
    2 s of CPU, and those that wait for the lock copy what it made.
    """
    from django.db import connection

    with lock.open("a+") as made:
        fcntl.flock(made, fcntl.LOCK_EX)
        if made.seek(0, os.SEEK_END):
            fcntl.flock(made, fcntl.LOCK_UN)
            connection.settings_dict["TEST"]["TEMPLATE"] = _MIGRATED
            yield
            return
        yield
        name = connection.settings_dict["NAME"]
        connection.close()  # of a database in use there is no copy
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {_MIGRATED} TEMPLATE {name}")
        made.write(name)


def this_database(name: str = "") -> str:
    """The DATABASE_URL of the database that the current test writes to, or of one beside it."""
    from django.db import connection

    found: dict[str, Any] = connection.settings_dict
    role = f"{found['USER']}:{found['PASSWORD']}"
    host = quote(found["HOST"], safe="/")
    return f"postgresql://{role}@/{name or found['NAME']}?host={host}&port={found['PORT']}"


def end_sessions(name: str = "") -> None:
    """This role's sessions end in the current test's database, or in the one of that name.
    Autovacuum's are PostgreSQL's own: a plain role that asks for their end, too, is refused.
    """
    from django.db import connection

    with psycopg.connect(this_database("postgres"), autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = %s AND usename = current_user",
            [name or connection.settings_dict["NAME"]],
        )


def end_session() -> None:
    """PostgreSQL ends the current test's session. Skips the test behind a pooler, which would give
    it another one.
    """
    from django.db import connection

    from columns.poolers import is_pooled

    if is_pooled(connection.connection):
        pytest.skip("a pooler gives another session where one ended")
    pid = connection.connection.info.backend_pid
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
