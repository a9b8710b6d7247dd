"""Failures of background tasks: why the last run of each failed, until one succeeds."""

import contextlib
import logging
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import redis

from shared_state import counters
from shared_state.outages import AWAY
from shared_state.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

_KEY = f"{NAMESPACE}task_faults"
# A fault that was not seen again for so long is of a task that is not run any more.
_FORGET_SECONDS = 3_600.0
_LONGEST = 300


class Fault(msgspec.Struct, frozen=True):
    """`since` and `at` are Unix seconds of the first and of the last failed run, of `runs`."""

    reason: str
    since: float
    at: float
    runs: int


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Fault).decode


@contextlib.contextmanager
def noted(name: str) -> Iterator[None]:
    """Keeps the reason why a run of the task failed, and raises it; a run that succeeds removes it.
    An outage of the database or Redis is no failure of the task. While Redis is away nothing is
    kept.
    """
    try:
        yield
    except AWAY:
        raise
    except Exception as error:
        note(name, error)
        raise
    _forget(name)


def note(name: str, error: BaseException) -> None:
    """The task failed for this reason."""
    text = (str(error).strip() or "no message").splitlines()[0]
    now = time.time()
    try:
        before = _of(client().hget(_KEY, name), now)
        fault = Fault(
            reason=f"{type(error).__name__}: {text}"[:_LONGEST],
            since=now if before is None else before.since,
            at=now,
            runs=1 if before is None else before.runs + 1,
        )
        client().hset(_KEY, name, _encode(fault))
    except redis.RedisError as failure:
        log.debug("the failure of %s was not kept: %s", name, failure)
    counters.add({(counters.TASK_FAILURES, name): 1})


def _forget(name: str) -> None:
    try:
        client().hdel(_KEY, name)
    except redis.RedisError as failure:
        log.debug("the failure of %s was not removed: %s", name, failure)


def read() -> dict[str, Fault]:
    """Task → why it fails now. Raises redis.RedisError."""
    now = time.time()
    found: Any = client().hgetall(_KEY)
    faults = {name.decode(): _of(value, now) for name, value in found.items()}
    return {name: fault for name, fault in faults.items() if fault is not None}


def _of(value: Any, now: float) -> Fault | None:
    if value is None:
        return None
    try:
        fault = _decode(value)
    except msgspec.MsgspecError:
        return None
    return fault if now - fault.at < _FORGET_SECONDS else None
