"""The chain's pace: how long its slots are.

Ingest measures it by the block times of what it stores (ingest/services/slots.py) and publishes it
in Redis; everything that counts in slots and waits in seconds reads it here. Until it is measured
it is localnet's setting, or Solana's slot time.
"""

import math
import time
from typing import Any

import redis
from django.conf import settings

from eventloop.faces import run_aside
from shared_state.redis_client import NAMESPACE, client

# Solana's slot time until SIMD-0525 is activated (solana-clock, DEFAULT_MS_PER_SLOT).
NOMINAL_SECONDS = 0.4
# localnet's setting goes from 10 ms to a minute.
_FASTEST, _SLOWEST = 0.01, 60.0
_KEY = f"{NAMESPACE}pace"
# The pace of a chain that is not stored any more is forgotten.
_EXPIRES_SECONDS = 600
_REMEMBERED_SECONDS = 30.0
# Three leaders in a row that make no block.
SILENT_SLOTS = 12
_LEAST_SILENT_SECONDS = 2.0

_remembered: tuple[float, float] | None = None


def publish(seconds: float) -> None:
    """The chain's slots take so long, as measured. Raises redis.RedisError."""
    client().set(_KEY, repr(_bounded(seconds)), ex=_EXPIRES_SECONDS)


def slot_seconds() -> float:
    """A slot's length in seconds, half a minute old at most; the last one known while Redis is
    away, and while another thread reads it for an event loop.
    """
    global _remembered
    now = time.monotonic()
    if _remembered is None or now >= _remembered[1]:
        known = _nominal() if _remembered is None else _remembered[0]
        _remembered = known, now + _REMEMBERED_SECONDS
        run_aside(_read)
    return _remembered[0]


def slots_in(seconds: float) -> int:
    """How many slots pass in that time."""
    return round(seconds / slot_seconds())


def silence_seconds() -> float:
    """A stream that sent nothing for so long is silent: SILENT_SLOTS slots, 2 s at least."""
    return max(SILENT_SLOTS * slot_seconds(), _LEAST_SILENT_SECONDS)


def forget() -> None:
    """Reads it again."""
    global _remembered
    _remembered = None


def _read() -> None:
    global _remembered
    try:
        found: Any = client().get(_KEY)
        seconds = float(found) if found is not None else math.nan
    except (redis.RedisError, ValueError):
        return
    known = _bounded(seconds) if math.isfinite(seconds) else _nominal()
    _remembered = known, time.monotonic() + _REMEMBERED_SECONDS


def _nominal() -> float:
    return settings.LOCALNET_SLOT_MS / 1_000 if settings.LOCALNET else NOMINAL_SECONDS


def _bounded(seconds: float) -> float:
    return min(max(seconds, _FASTEST), _SLOWEST)
