"""Lets a worker's task wait for more slots: a task per slot costs more than an empty slot."""

import contextlib
import mmap
import time
from collections.abc import Iterator

import redis
from celery.signals import worker_init, worker_shutting_down

from columns.raw_queries import close_lost_connection
from ingest import slot_queue

# The longest time that a stopping worker waits for its task.
_TURN_SECONDS = 1.5

# One byte that a worker shares with its pool processes: 1 when it should stop.
_stops: mmap.mmap | None = None


@worker_init.connect
def _begin(**_: object) -> None:
    global _stops
    _stops = mmap.mmap(-1, 1)


@worker_shutting_down.connect
def _stop(**_: object) -> None:
    if _stops is not None:
        _stops[0] = 1


def calls(seconds: float) -> Iterator[None]:
    """Yields at once, and again whenever slots are queued, for this long or until the worker stops.
    Raises redis.RedisError.
    """
    until = time.monotonic() + seconds
    yield
    if not seconds:
        return
    try:
        while time.monotonic() < until and not _is_stopping():
            if slot_queue.listen(_TURN_SECONDS):
                close_lost_connection()
                yield
    finally:
        with contextlib.suppress(redis.RedisError):
            slot_queue.stop_listening()
    if slot_queue.count():  # queued before `stop_listening` took effect
        yield


def _is_stopping() -> bool:
    return _stops is not None and _stops[0] == 1
