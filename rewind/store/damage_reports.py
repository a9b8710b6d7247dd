"""Reports of reads that met damage, for the scrub to look into.

They pass through Redis, from a thread of their own: the read that met the damage neither waits for
it nor fails by it, wherever it runs.
"""

import logging
import threading
import time
from typing import Any

import redis

from shared_state.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

_KEY = f"{NAMESPACE}archive_damage"
# A block is reported once in so many seconds by each process, and so many blocks at most.
_AGAIN_SECONDS = 60.0
_MOST = 1_000

_reported: dict[tuple[int, int], float] = {}
_lock = threading.Lock()


def report(segment: int, block: int) -> None:
    """A read met damage in the block; returns at once."""
    now = time.monotonic()
    with _lock:
        if now - _reported.get((segment, block), -_AGAIN_SECONDS) < _AGAIN_SECONDS:
            return
        if len(_reported) >= _MOST:
            _reported.clear()
        _reported[segment, block] = now
    threading.Thread(target=_send, args=(segment, block), name="damage-report", daemon=True).start()


def _send(segment: int, block: int) -> None:
    try:
        client().sadd(_KEY, f"{segment}:{block}")
    except redis.RedisError as error:
        log.debug("damage in block %d of segment %d is not reported: %s", block, segment, error)


def taken(limit: int) -> list[tuple[int, int]]:
    """(segment, block) of reports, which are deleted. Raises redis.RedisError."""
    found: Any = client().spop(_KEY, limit)
    pairs = [each.decode().split(":") for each in found]
    return sorted((int(segment), int(block)) for segment, block in pairs)


def forget() -> None:
    """The next read that meets damage reports it."""
    with _lock:
        _reported.clear()
