"""Heartbeats: every process says every few seconds that it is alive, and which kind it is."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

from access.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

SECONDS = 5.0
# Who has said nothing for so long is missing: a restart by the supervisor takes less.
MISSING_SECONDS = 30.0
_FORGET_SECONDS = 600.0
_KEY = f"{NAMESPACE}heartbeats"

_started: set[str] = set()


@dataclass(frozen=True, slots=True)
class Kind:
    """Processes of one kind: how many are alive, and when one was last heard (Unix seconds)."""

    name: str
    alive: int
    heard_at: float


def beat(kind: str) -> None:
    """Says once that this process is alive. Raises redis.RedisError."""
    now = f"{time.time():.3f}"
    mine = f"{kind}|{socket.gethostname()}|{os.getpid()}"
    client().hset(_KEY, mapping={kind: now, mine: now})


def start(kind: str, also: Callable[[], None] | None = None) -> None:
    """Says it from now on, in a thread; `also` is called each time in the same thread. For a
    process that does not fork.
    """
    if kind in _started:
        return
    _started.add(kind)
    threading.Thread(target=_run, args=(kind, also), name="heartbeat", daemon=True).start()


def _run(kind: str, also: Callable[[], None] | None) -> None:
    while True:
        beat_quietly(kind)
        if also is not None:
            try:
                also()
            except Exception:
                log.exception("what goes with the heartbeat of %s failed", kind)
        time.sleep(SECONDS)


def beat_quietly(kind: str) -> None:
    """`beat`; while Redis is away nobody could hear it."""
    try:
        beat(kind)
    except redis.RedisError as error:
        log.debug("the heartbeat of %s was not heard: %s", kind, error)


def kinds(*, now: float) -> dict[str, Kind]:
    """Every kind that was ever heard. Raises redis.RedisError."""
    found: Any = client().hgetall(_KEY)
    heard: dict[str, float] = {}
    alive: dict[str, int] = {}
    gone = []
    for field, at in found.items():
        kind, _, process = field.decode().partition("|")
        seconds = float(at)
        heard[kind] = max(heard.get(kind, 0.0), seconds)
        if not process:
            continue
        if now - seconds <= MISSING_SECONDS:
            alive[kind] = alive.get(kind, 0) + 1
        elif now - seconds > _FORGET_SECONDS:
            gone.append(field)
    if gone:
        client().hdel(_KEY, *gone)
    return {kind: Kind(kind, alive.get(kind, 0), at) for kind, at in heard.items()}
