"""Heartbeats: every process writes every second when its main work went on last."""

import atexit
import contextlib
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
from embedded import notify

log = logging.getLogger(__name__)

SECONDS = 1.0
# A process whose work has not gone on for so long hangs, or is gone: reports of it come within 5 s.
MISSING_SECONDS = 4.0
# A silent process of another machine may have ended long ago; after this it is not called hung.
_HUNG_SECONDS = 120.0
_FORGET_SECONDS = 600.0
_KEY = f"{NAMESPACE}heartbeats"
_FIRST = f"{NAMESPACE}heartbeats:first:"
_WRITABLE = f"{NAMESPACE}heartbeats:writable"

_started: set[str] = set()


@dataclass(frozen=True, slots=True)
class Kind:
    """Processes of one kind: how many make progress, how many exist and make none, and when one
    made progress last (Unix seconds).
    """

    name: str
    alive: int
    silent: int
    heard_at: float


def beat(kind: str, *, at: float | None = None, pid: int | None = None) -> None:
    """Writes once that the work of this process, or of the one named, went on, now or `at`. Raises
    redis.RedisError.
    """
    written = f"{time.time() if at is None else at:.3f}"
    client().hset(_KEY, mapping={kind: written, _mine(kind, pid): written})


def start(kind: str, also: Callable[[], None] | None = None, *, by_progress: bool = False) -> None:
    """Writes it from now on, in a thread: `by_progress` as of the last call of
    embedded.notify.progress, else as long as the thread itself runs. `also` is called every second
    in another thread. For a process that does not fork.
    """
    if kind in _started:
        return
    _started.add(kind)
    threading.Thread(target=_run, args=(kind, by_progress), name="heartbeat", daemon=True).start()
    atexit.register(end, kind)
    if also is not None:
        # Of its own: it may wait for the database, and the heartbeat must not.
        threading.Thread(target=_repeat, args=(kind, also), name="stand-in", daemon=True).start()


def end(kind: str) -> None:
    """This process ends in order: it is not hung from now on."""
    with contextlib.suppress(redis.RedisError):
        client().hdel(_KEY, _mine(kind))


def _run(kind: str, by_progress: bool) -> None:
    while True:
        at = notify.progressed_at() if by_progress else time.time()
        if at:
            beat_quietly(kind, at=at)
        time.sleep(SECONDS)


def _repeat(kind: str, also: Callable[[], None]) -> None:
    while True:
        try:
            also()
        except Exception:
            log.exception("what goes with the heartbeat of %s failed", kind)
        time.sleep(SECONDS)


def beat_quietly(kind: str, *, at: float | None = None, pid: int | None = None) -> None:
    """`beat`; while Redis is away no one could read it."""
    try:
        beat(kind, at=at, pid=pid)
    except redis.RedisError as error:
        log.debug("the heartbeat of %s was not written: %s", kind, error)


def is_first(what: str) -> bool:
    """Whether this process is the first that asks within a second; also while Redis is away. What
    several would do alike, one does, and another when that one hangs.
    """
    try:
        return bool(client().set(f"{_FIRST}{what}", "", nx=True, px=int(800 * SECONDS)))
    except redis.RedisError:
        return True


def kinds(*, now: float) -> dict[str, Kind]:
    """Every kind that was ever heard. Raises redis.RedisError, also where Redis answers but takes
    no writes: what stands there is old then, and says nothing of the processes.
    """
    with client().pipeline(transaction=False) as pipe:
        pipe.set(_WRITABLE, "", px=1_000)
        pipe.hgetall(_KEY)
        found: Any = pipe.execute()[1]
    heard: dict[str, float] = {}
    alive: dict[str, int] = {}
    silent: dict[str, int] = {}
    gone = []
    for field, at in found.items():
        kind, _, process = field.decode().partition("|")
        seconds = float(at)
        heard[kind] = max(heard.get(kind, 0.0), seconds)
        if not process:
            continue
        if now - seconds <= MISSING_SECONDS:
            alive[kind] = alive.get(kind, 0) + 1
        elif now - seconds > _FORGET_SECONDS or _has_ended(process):
            gone.append(field)
        elif now - seconds <= _HUNG_SECONDS:
            silent[kind] = silent.get(kind, 0) + 1
    if gone:
        client().hdel(_KEY, *gone)
    return {
        kind: Kind(kind, alive.get(kind, 0), silent.get(kind, 0), at) for kind, at in heard.items()
    }


def _mine(kind: str, pid: int | None = None) -> str:
    return f"{kind}|{socket.gethostname()}|{os.getpid() if pid is None else pid}"


def _has_ended(process: str) -> bool:
    """A process of this machine that is not there any more."""
    host, _, number = process.rpartition("|")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
