"""Deletes usage by the minute and by the key's hour after their retention."""

from datetime import UTC, datetime, timedelta

from django.db import connection

# The shortest report on keys covers one day; the rest is a margin for late clocks.
KEY_HOURS_KEPT = timedelta(days=3)
_ROWS_AT_ONCE = 20_000
# Of each table in one run.
_MOST_ROWS = 2_000_000


def forget_minutes(*, now: datetime, days: int) -> int:
    """Deletes minutes more than `days` UTC days old, oldest first, and old hours of keys, as far as
    one run may; returns the number of rows. The sums of days stay.
    """
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return _forget("access_usageminute", "minute", midnight - timedelta(days=days)) + _forget(
        "access_keyhour", "hour", now - KEY_HOURS_KEPT
    )


def _forget(table: str, column: str, before: datetime) -> int:
    """Deletes few rows per statement, so that none blocks the roll-up for long."""
    forgotten = 0
    with connection.cursor() as cursor:
        while forgotten < _MOST_ROWS:
            cursor.execute(
                f"""
                DELETE FROM {table} WHERE id IN (
                    SELECT id FROM {table} WHERE {column} < %s ORDER BY {column} LIMIT %s
                )
                """,
                [before, _ROWS_AT_ONCE],
            )
            forgotten += cursor.rowcount
            if cursor.rowcount < _ROWS_AT_ONCE:
                break
    return forgotten
