"""This process's cache of keys: digest → Caller or refusal.

Each limited request reads from Redis whether keys changed (the generation); entries of another
generation are dropped. Without such a confirmation an entry is valid for FRESH_SECONDS; then Redis
is asked, or the tables while it is unavailable. So every process notices a change within a second.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from access.buckets import GENERATION_KEY
from access.callers import Caller
from access.errors import KeyRefused
from eventloop.faces import in_thread
from shared_state import script_socket

FRESH_SECONDS = 0.8
# Even a confirmed entry is read again after this, so that changes made in SQL arrive.
LONGEST_SECONDS = 30.0
MAX_CALLERS = 10_000


_GENERATION = script_socket.Script("return {tonumber(redis.call('GET', KEYS[1]) or 0)}")

# Separate from callers, so that guessed keys cannot evict valid ones.
MAX_REFUSALS = 2_000

# A key's Caller, or a function that makes its refusal.
Found = Caller | Callable[[], KeyRefused]


@dataclass(frozen=True, slots=True)
class Entry:
    """The result for one key, and when it was read (monotonic seconds)."""

    found: Found
    read_at: float


_lock = threading.Lock()
_callers: dict[bytes, Entry] = {}
_refusals: dict[bytes, Entry] = {}
_generation: int | None = None
_confirmed_at = 0.0
_epoch = 0  # changes whenever entries are dropped, so that a slow read cannot store an old one


async def afind(digest: bytes, read: Callable[..., Found], *args: Any) -> Found:
    """The cached result of the digest; a thread that may block reads a missing one by
    `read(*args)`.
    """
    entry = _callers.get(digest) or _refusals.get(digest)
    now = time.monotonic()
    if entry is not None and now - entry.read_at < LONGEST_SECONDS:
        believed_from = entry.read_at if entry.read_at > _confirmed_at else _confirmed_at
        if now - believed_from < FRESH_SECONDS or await _is_confirmed():
            return entry.found
    return await in_thread(_read, digest, read, args)


def _read(digest: bytes, read: Callable[..., Found], args: tuple[Any, ...]) -> Found:
    epoch, now = _epoch, time.monotonic()
    entry = Entry(read(*args), now)
    known = isinstance(entry.found, Caller)
    entries, most = (_callers, MAX_CALLERS) if known else (_refusals, MAX_REFUSALS)
    with _lock:
        if epoch == _epoch:
            (_refusals if known else _callers).pop(digest, None)
            while len(entries) >= most:
                del entries[next(iter(entries))]
            entries[digest] = entry
    return entry.found


async def _is_confirmed() -> bool:
    """Asks Redis whether keys changed: cheaper than reading a key, and possible during an outage of
    the database.
    """
    asked_at = time.monotonic()
    try:
        (generation,) = await _GENERATION.arun(1, GENERATION_KEY)
    except script_socket.RedisAway:
        return False
    return confirm(generation, asked_at)


def confirm(generation: int, asked_at: float) -> bool:
    """Records the generation read from Redis, which was asked for it then (monotonic) or later: a
    busy process reads the reply late, and keys may have changed meanwhile. False: the entries were
    of another generation and are dropped; callers identified by them must be identified again.
    """
    global _generation, _confirmed_at
    if generation == _generation:
        _confirmed_at = max(_confirmed_at, asked_at)
        return True
    with _lock:
        if generation != _generation:
            _drop()
            _generation = generation
    return False


def forget() -> None:
    """Drops everything: keys changed in this process, or it was forked."""
    global _generation
    with _lock:
        _drop()
        _generation = None


def _drop() -> None:
    global _epoch, _confirmed_at
    _callers.clear()
    _refusals.clear()
    _epoch += 1
    _confirmed_at = 0.0


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)
