"""Upkeep of jobs: idle ones are queued again, expired ones are deleted."""

from datetime import datetime, timedelta
from uuid import UUID

from rewind.jobs import store

_CALLED_AT_ONCE = 1_000
_DELETED_AT_ONCE = 20
# A job can be looked up, without its results, for so long after they are deleted.
_REMEMBERED = timedelta(days=30)


def idle_jobs(*, now: datetime, gone_after: timedelta) -> list[tuple[UUID, int]]:
    """(id, turn) of open jobs without a worker: it was killed, or the call was lost.
    Concurrent callers get different jobs.
    """
    return store.take_idle(now=now, until=now + gone_after, limit=_CALLED_AT_ONCE)


def delete_expired(*, now: datetime) -> None:
    """Deletes some expired results, and the jobs whose results expired long ago."""
    for job in store.expired(now).defer("request")[:_DELETED_AT_ONCE]:
        store.delete_results(job)
    store.delete_forgotten(now - _REMEMBERED)
