"""The clock that all processes share, Redis's: a machine's own may be off, or set meanwhile."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import redis

from shared_state.redis_client import client

# Redis is asked again after so long: its clock may be set, too.
_SECONDS = 10.0
# Less than this is the way to Redis and back.
SMALLEST = 1.0


@dataclass(slots=True)
class _Measured:
    """Redis's clock was `base` ahead of the monotonic one `at` that."""

    base: float | None = None
    at: float = float("-inf")


_measured = _Measured()


def offset() -> float:
    """How many seconds this process's clock is behind the shared one; 0 for less than SMALLEST, and
    while Redis was never reached.
    """
    measured, monotonic = _measured, time.monotonic()
    if monotonic - measured.at >= _SECONDS:
        measured.at = monotonic
        _measure(measured)
    if measured.base is None:
        return 0.0
    found = time.monotonic() + measured.base - time.time()
    return found if abs(found) >= SMALLEST else 0.0


def seconds() -> float:
    """Unix seconds."""
    return time.time() + offset()


def now() -> datetime:
    return datetime.fromtimestamp(seconds(), UTC)


def shared(own: float) -> float:
    """A moment by this process's clock (Unix seconds), by the shared one."""
    return own + offset()


def _measure(measured: _Measured) -> None:
    try:
        before = time.monotonic()
        found: Any = client().time()
        measured.base = found[0] + found[1] / 1e6 - (before + time.monotonic()) / 2
    except redis.RedisError:
        return  # what was measured before still counts


def forget() -> None:
    """Redis is another one."""
    global _measured
    _measured = _Measured()
