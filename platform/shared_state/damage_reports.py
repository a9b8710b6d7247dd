"""Reports of reads that met damage in sealed data, for the scrub of its store to look into.

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

_KEY = NAMESPACE + "damage:{}"
# The same is reported once in so many seconds by each process, and so much at most.
_AGAIN_SECONDS = 60.0
_MOST = 1_000

_reported: dict[tuple[str, str], float] = {}
_lock = threading.Lock()


def report(store: str, what: str) -> None:
    """A read met damage in this part of the store, `archive` or `ledger`; returns at once."""
    now = time.monotonic()
    with _lock:
        if now - _reported.get((store, what), -_AGAIN_SECONDS) < _AGAIN_SECONDS:
            return
        if len(_reported) >= _MOST:
            _reported.clear()
        _reported[store, what] = now
    threading.Thread(target=_send, args=(store, what), name="damage-report", daemon=True).start()


def _send(store: str, what: str) -> None:
    try:
        client().sadd(_KEY.format(store), what)
    except redis.RedisError as error:
        log.debug("damage of the %s in %s is not reported: %s", store, what, error)


def are_waiting(store: str) -> bool:
    """Whether anything was reported of the store. Raises redis.RedisError."""
    return bool(client().exists(_KEY.format(store)))


def taken(store: str, limit: int) -> list[str]:
    """What was reported of the store, which is deleted; nothing while Redis is down."""
    try:
        found: Any = client().spop(_KEY.format(store), limit)
    except redis.RedisError as error:
        log.debug("reports of damage are not read: %s", error)
        return []
    return sorted(each.decode() for each in found)


def forget() -> None:
    """The next read that meets damage reports it."""
    with _lock:
        _reported.clear()
