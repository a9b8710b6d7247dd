"""Waiting until sessions of the test's database wait for a lock."""

from django.db import connection

from tests.patience import wait

# Not pg_stat_activity, which does not change within a transaction. Who waits for a lock has one of
# its database: those of parallel workers' tests wait, too, on the same server.
_WAITING = (
    "SELECT pid FROM pg_locks waiting WHERE NOT granted AND EXISTS (SELECT FROM pg_locks"
    " WHERE pid = waiting.pid AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database()))"
)


def waiting_sessions() -> list[int]:
    """The process ids of this database's sessions that wait for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return [pid for (pid,) in cursor.fetchall()]


def until_waiting(least: int) -> None:
    """Until so many of its sessions wait."""
    wait(lambda: len(waiting_sessions()) >= least, f"{least} sessions wait for a lock")
