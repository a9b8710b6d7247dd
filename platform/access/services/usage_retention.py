"""Forgetting what is kept for a time only: usage by the minute, and who called most by the hour."""

from datetime import UTC, datetime, timedelta

from django.db import connection

# The shortest report on keys looks back one day; the rest is for a clock that goes after.
KEY_HOURS_KEPT = timedelta(days=3)
_ROWS_AT_ONCE = 20_000


def forget_minutes(*, now: datetime, days: int, most: int = 2_000_000) -> int:
    """Deletes minutes of UTC days that are more than `days` past, oldest first, and hours of keys;
    the number of rows, about `most` at most. The days that they add up to stay.
    """
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return _forget("access_usageminute", "minute", midnight - timedelta(days=days), most) + _forget(
        "access_keyhour", "hour", now - KEY_HOURS_KEPT, most
    )


def _forget(table: str, column: str, before: datetime, most: int) -> int:
    """A few rows a statement: none of them holds up the roll-up."""
    forgotten = 0
    with connection.cursor() as cursor:
        while forgotten < most:
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
