"""Waiting until sessions of the database wait for a lock."""

import time

from django.db import connection

from tests.patience import PATIENCE_SECONDS


def until_waiting(most: int) -> None:
    """Until so many sessions wait, of this test or of a parallel one."""
    until, waiting = time.monotonic() + PATIENCE_SECONDS, 0
    while waiting < most and time.monotonic() < until:
        with connection.cursor() as cursor:
            # Not pg_stat_activity, which does not change within a transaction.
            cursor.execute("SELECT count(*), pg_sleep(0.01) FROM pg_locks WHERE NOT granted")
            waiting = cursor.fetchone()[0]
