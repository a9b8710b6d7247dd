"""What the database's rows are, and in which tables other rows are there than before."""

from collections.abc import Iterable

from django.db import connection

# Written by any request of someone signed in: that it came.
BESIDE = {"django_session", "staff_auditentry", "django_admin_log"}
# When a person or a key was last here is no change of either.
_SINCE = ("last_login", "last_used_at", "last_used_address")

_TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname
"""
# How many rows this transaction wrote, by table: PostgreSQL's own count, whatever wrote them.
_WRITTEN = """
    SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables
    WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
"""


class Rows:
    """The rows as they are now, and `changed()` later: the tables whose rows are others by then."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_TABLES)
            tables = {name for (name,) in cursor.fetchall()} - BESIDE
        self._before = _digests(sorted(tables))
        self._written = _written()

    def changed(self) -> set[str]:
        """Tables in which rows were added, changed or removed, within this test's transaction."""
        now = _written()
        touched = {name for name in now if now[name] != self._written.get(name)} - BESIDE
        self._written = now
        after = _digests(sorted(touched))
        return {name for name in touched if after[name] != self._before.get(name)}


def _written() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN)
        return dict(cursor.fetchall())


def _digests(tables: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Table → its number of rows, and the sum of their hashes."""
    found = {}
    without = "".join(f" - '{column}'" for column in _SINCE)
    with connection.cursor() as cursor:
        for name in tables:
            cursor.execute(
                f"SELECT count(*), sum(hashtextextended((to_jsonb(t){without})::text, 0))::text"
                f' FROM "{name}" t'
            )
            found[name] = cursor.fetchone()
    return found
