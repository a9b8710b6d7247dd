"""A test's own database: its address, for processes that the test starts, and a lost session."""

from typing import Any
from urllib.parse import quote

import psycopg
import pytest


def this_database() -> str:
    """The DATABASE_URL of the database that the current test writes to."""
    from django.db import connection

    found: dict[str, Any] = connection.settings_dict
    role = f"{found['USER']}:{found['PASSWORD']}"
    host = quote(found["HOST"], safe="/")
    return f"postgresql://{role}@/{found['NAME']}?host={host}&port={found['PORT']}"


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
