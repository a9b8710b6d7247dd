"""What nobody else does for jobs: those that were left are called, what is over is deleted."""

from datetime import datetime, timedelta
from uuid import UUID

from rewind.store import jobs as store

_CALLED_AT_ONCE = 1_000
_DELETED_AT_ONCE = 20
# A job can be looked up, without its results, for so long after they are deleted.
_REMEMBERED = timedelta(days=30)


def idle_jobs(*, now: datetime, gone_after: timedelta) -> list[tuple[UUID, int]]:
    """(id, turn) of open jobs that nobody is at: their worker was killed, or no call came
    through. Two who ask at once get different ones.
    """
    return store.take_idle(now=now, until=now + gone_after, limit=_CALLED_AT_ONCE)


def delete_expired(*, now: datetime) -> None:
    """Results that are over are deleted, and later their job; some of them each time."""
    for job in store.expired(now).defer("request")[:_DELETED_AT_ONCE]:
        store.delete_results(job)
    store.delete_forgotten(now - _REMEMBERED)
