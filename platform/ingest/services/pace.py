"""Measures the chain's pace by block times, and publishes it (shared_state/pace.py)."""

import contextlib
import time

import redis

from historical.coverage.store.storage import slots_and_seconds
from shared_state import pace

_EVERY_SECONDS = 15.0
# Blocks have whole seconds: over half a minute the length of a slot is known to 4 %.
_LEAST_SECONDS = 30
_LEAST_SLOTS, _MOST_SLOTS = 50, 1_000

_due_at = 0.0


def publish_pace() -> None:
    """Call it when slots were stored: it does so once in 15 s, if Redis is there."""
    global _due_at
    if time.monotonic() < _due_at:
        return
    _due_at = time.monotonic() + _EVERY_SECONDS
    found = slots_and_seconds(least=_LEAST_SLOTS, most=_MOST_SLOTS)
    if found is not None and found[1] >= _LEAST_SECONDS:
        with contextlib.suppress(redis.RedisError):
            pace.publish(found[1] / found[0])


def forget() -> None:
    """Measures it at the next call."""
    global _due_at
    _due_at = 0.0
