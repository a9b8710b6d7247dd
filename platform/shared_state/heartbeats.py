"""Heartbeats: every second each process writes when its main work last made progress."""

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

from embedded import notify
from shared_state import clock
from shared_state.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

SECONDS = 1.0
# A process without progress for so long hangs or has ended; an alarm follows within 5 s.
MISSING_SECONDS = 4.0
# A silent process of another machine may have ended long ago; after this it is not called hung.
_HUNG_SECONDS = 120.0
_FORGET_SECONDS = 600.0
_KEY = f"{NAMESPACE}heartbeats"
# Of processes whose clock is off: by how many seconds it is ahead.
_CLOCKS = f"{NAMESPACE}heartbeats:clocks"
_FIRST = f"{NAMESPACE}heartbeats:first:"
_WRITABLE = f"{NAMESPACE}heartbeats:writable"

_started: set[str] = set()


@dataclass(frozen=True, slots=True)
class Kind:
    """Processes of one kind: how many make progress, how many exist without progress, and when one
    last made progress (Unix seconds). `clocks`: those whose clock is off, as `host|pid`, and by how
    many seconds it is ahead.
    """

    name: str
    alive: int
    silent: int
    heard_at: float
    clocks: tuple[tuple[str, float], ...] = ()


def beat(kind: str, *, at: float | None = None, pid: int | None = None) -> None:
    """Writes one heartbeat of this process or of `pid`, `at` a moment of its clock. Raises
    redis.RedisError.
    """
    behind = clock.offset()
    written = f"{(time.time() if at is None else at) + behind:.3f}"
    mine = _mine(kind, pid)
    with client().pipeline(transaction=False) as pipe:
        pipe.hset(_KEY, mapping={kind: written, mine: written})
        if behind:
            pipe.hset(_CLOCKS, mine, f"{-behind:.3f}")
        else:
            pipe.hdel(_CLOCKS, mine)
        pipe.execute()


def start(kind: str, also: Callable[[], None] | None = None, *, by_progress: bool = False) -> None:
    """Writes heartbeats from a thread: `by_progress` with the time of the last
    embedded.notify.progress, else with the current time. `also` is called every second in another
    thread. For a process that does not fork.
    """
    if kind in _started:
        return
    _started.add(kind)
    threading.Thread(target=_run, args=(kind, by_progress), name="heartbeat", daemon=True).start()
    atexit.register(end, kind)
    if also is not None:
        # In a thread of its own: it may wait for the database, and the heartbeat must not.
        threading.Thread(target=_repeat, args=(kind, also), name="stand-in", daemon=True).start()


def end(kind: str) -> None:
    """Removes this process's heartbeat when it ends in order, and those of its children, which have
    ended: other machines do not take them for hung.
    """
    _started.discard(kind)
    with contextlib.suppress(redis.RedisError):
        fields: Any = client().hkeys(_KEY)
        own = [field for field in fields if field.startswith(f"{kind}|".encode())]
        ended = [field for field in own if _has_ended(field.decode().partition("|")[2])]
        client().hdel(_KEY, _mine(kind), *ended)


def _run(kind: str, by_progress: bool) -> None:
    while kind in _started:
        at = notify.progressed_at() if by_progress else time.time()
        if at:
            beat_quietly(kind, at=at)
        time.sleep(SECONDS)


def _repeat(kind: str, also: Callable[[], None]) -> None:
    while True:
        try:
            also()
        except Exception:
            log.exception("the task beside the heartbeat of %s failed", kind)
        time.sleep(SECONDS)


def beat_quietly(kind: str, *, at: float | None = None, pid: int | None = None) -> None:
    """`beat`, without an error while Redis is unavailable."""
    try:
        beat(kind, at=at, pid=pid)
    except redis.RedisError as error:
        log.debug("the heartbeat of %s was not written: %s", kind, error)


def is_first(what: str) -> bool:
    """Whether this process is the first caller within a second; True while Redis is unavailable. Of
    several processes with the same task one runs it, and another one when that one hangs.
    """
    try:
        return bool(client().set(f"{_FIRST}{what}", "", nx=True, px=int(800 * SECONDS)))
    except redis.RedisError:
        return True


def kinds(*, now: float) -> dict[str, Kind]:
    """Every kind that ever wrote a heartbeat, at a moment of the shared clock. Raises
    redis.RedisError, also where Redis replies but takes no writes: the stored heartbeats are
    outdated then.
    """
    with client().pipeline(transaction=False) as pipe:
        pipe.set(_WRITABLE, "", px=1_000)
        pipe.hgetall(_KEY)
        pipe.hgetall(_CLOCKS)
        answers: Any = pipe.execute()
    found, off = answers[1], answers[2]
    heard: dict[str, float] = {}
    alive: dict[str, int] = {}
    silent: dict[str, int] = {}
    clocks: dict[str, list[tuple[str, float]]] = {}
    gone = []
    for field, at in found.items():
        kind, _, process = field.decode().partition("|")
        seconds = float(at)
        heard[kind] = max(heard.get(kind, 0.0), seconds)
        if not process:
            continue
        if now - seconds <= MISSING_SECONDS:
            alive[kind] = alive.get(kind, 0) + 1
            if field in off:
                clocks.setdefault(kind, []).append((process, float(off[field])))
        elif now - seconds > _FORGET_SECONDS or _has_ended(process):
            gone.append(field)
        elif now - seconds <= _HUNG_SECONDS:
            silent[kind] = silent.get(kind, 0) + 1
    if gone:
        client().hdel(_KEY, *gone)
        client().hdel(_CLOCKS, *gone)
    return {
        kind: Kind(
            kind, alive.get(kind, 0), silent.get(kind, 0), at, tuple(sorted(clocks.get(kind, ())))
        )
        for kind, at in heard.items()
    }


def _mine(kind: str, pid: int | None = None) -> str:
    return f"{kind}|{socket.gethostname()}|{os.getpid() if pid is None else pid}"


def _has_ended(process: str) -> bool:
    """Whether the process is of this machine and does not exist any more."""
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
