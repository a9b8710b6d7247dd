"""The advisory locks as the server has them: no two are one."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, transaction
from psycopg.errors import LockNotAvailable

from columns import clusters
from columns.advisory_locks import AdvisoryLock, attempt, exclusive, share, try_for
from columns.raw_queries import fetch_one

READS_WAIT_FOR = AdvisoryLock.CLUSTER_COMMITS


def test_each_is_one_of_its_own_at_the_server(other: psycopg.Connection) -> None:
    for lock in AdvisoryLock:
        assert other.execute(attempt(lock, 0)).fetchone() == (True,)
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    assert other.execute(held).fetchone() == (len(AdvisoryLock),)
    with transaction.atomic():
        assert not any(try_for(lock) for lock in AdvisoryLock)
        assert all(try_for(lock, 1) for lock in AdvisoryLock)


def test_reads_of_a_cluster_wait_for_its_commits_and_for_nothing_else(
    other: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "is_always_apart", True)
    for lock in set(AdvisoryLock) - {READS_WAIT_FOR}:
        other.execute(exclusive(lock))
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 100")
    assert fetch_one("SELECT 1") == (1,)
    other.execute(exclusive(READS_WAIT_FOR))
    with pytest.raises(LockNotAvailable):
        fetch_one("SELECT 1")


def test_the_archive_is_scrubbed_while_a_cluster_is_read(other: psycopg.Connection) -> None:
    other.execute(clusters.READ_FENCE)
    with transaction.atomic():
        assert try_for(AdvisoryLock.ARCHIVE_SCRUBBING)
        share(READS_WAIT_FOR)


@pytest.fixture
def other(transactional_db: None) -> Iterator[psycopg.Connection]:
    """Another session, in one transaction."""
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    with psycopg.connect(**parameters) as found:
        yield found
        found.rollback()
    connection.close()
