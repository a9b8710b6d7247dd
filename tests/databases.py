"""The address of a test's own database, for processes that the test starts."""

from typing import Any
from urllib.parse import quote


def this_database() -> str:
    """The DATABASE_URL of the database that the current test writes to."""
    from django.db import connection

    found: dict[str, Any] = connection.settings_dict
    role = f"{found['USER']}:{found['PASSWORD']}"
    host = quote(found["HOST"], safe="/")
    return f"postgresql://{role}@/{found['NAME']}?host={host}&port={found['PORT']}"
