"""The time that statements may take."""

from django.db import connection


def lift_timeouts() -> None:
    """For this transaction: a write takes as long as it takes."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
