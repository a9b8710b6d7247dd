"""Who waits for a lock, among the sessions of parallel tests on one server."""

import threading

import psycopg
import pytest

from tests.databases import this_database
from tests.lock_waits import until_waiting, waiting_sessions
from tests.patience import PATIENCE_SECONDS, wait

pytestmark = pytest.mark.django_db(transaction=True)

_LOCK = "SELECT pg_advisory_lock(7, 7)"


@pytest.mark.parametrize("name", ["", "postgres"], ids=["this database", "another one"])
def test_only_sessions_of_this_database_count(name: str) -> None:
    address = this_database(name)
    with (
        psycopg.connect(address, autocommit=True) as holder,
        psycopg.connect(address, autocommit=True) as other,
        psycopg.connect(address, autocommit=True) as observer,
    ):
        holder.execute(_LOCK)
        waiting = threading.Thread(target=other.execute, args=(_LOCK,))
        waiting.start()
        try:
            pid = other.info.backend_pid
            asked = ("SELECT FROM pg_locks WHERE NOT granted AND pid = %s", [pid])
            wait(lambda: observer.execute(*asked).fetchone() is not None, "it waits")
            if not name:
                until_waiting(1)
            assert waiting_sessions() == ([] if name else [pid])
        finally:
            holder.execute("SELECT pg_advisory_unlock(7, 7)")
            waiting.join(PATIENCE_SECONDS)
