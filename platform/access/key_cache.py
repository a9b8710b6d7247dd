"""What this process knows of keys: digest → Caller or refusal, and for how long it may believe it.

Every limited request learns from Redis whether keys changed since (the generation); what was read
under another generation is dropped. Where Redis was not asked, an entry is believed for
FRESH_SECONDS only; then it is asked, or the tables while it is away. So a change is noticed within
two seconds everywhere.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from access.buckets import GENERATION_KEY
from access.callers import Caller
from access.errors import KeyRefused
from shared_state import script_socket

FRESH_SECONDS = 1.5
# However often confirmed, an entry is read anew after this: changes made by hand in SQL arrive.
LONGEST_SECONDS = 30.0
MAX_CALLERS = 10_000


_GENERATION = script_socket.command(
    "EVAL", "return {tonumber(redis.call('GET', KEYS[1]) or 0)}", 1, GENERATION_KEY
)

# Kept apart from callers, so that guessing keys cannot push out those who have one.
MAX_REFUSALS = 2_000

# What the tables say of a key: its Caller, or what makes the refusal.
Found = Caller | Callable[[], KeyRefused]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the tables said of one key, and when (monotonic seconds)."""

    found: Found
    read_at: float


_lock = threading.Lock()
_callers: dict[bytes, Entry] = {}
_refusals: dict[bytes, Entry] = {}
_generation: int | None = None
_confirmed_at = 0.0
_epoch = 0  # moves whenever the entries are dropped, so that a slow read cannot slip in behind


def find(digest: bytes, read: Callable[[], Found]) -> Found:
    """The entry of the digest, read now unless it may still be believed; what `read` raises is
    not kept.
    """
    entry = _callers.get(digest) or _refusals.get(digest)
    now = time.monotonic()
    if entry is not None and now - entry.read_at < LONGEST_SECONDS:
        believed_from = entry.read_at if entry.read_at > _confirmed_at else _confirmed_at
        if now - believed_from < FRESH_SECONDS or _is_confirmed():
            return entry.found
    epoch = _epoch
    entry = Entry(read(), now)
    known = isinstance(entry.found, Caller)
    entries, most = (_callers, MAX_CALLERS) if known else (_refusals, MAX_REFUSALS)
    with _lock:
        if epoch == _epoch:
            (_refusals if known else _callers).pop(digest, None)
            while len(entries) >= most:
                del entries[next(iter(entries))]
            entries[digest] = entry
    return entry.found


def _is_confirmed() -> bool:
    """Asks Redis whether keys changed, which takes less than reading one, and tells it while the
    database is away.
    """
    if _generation is None:
        return False
    try:
        (generation,) = script_socket.ask(_GENERATION)
    except script_socket.RedisAway:
        return False
    return confirm(generation)


def confirm(generation: int) -> bool:
    """Tells what Redis says now. False: the entries were of another generation and are dropped;
    whoever was identified by them must be identified again.
    """
    global _generation, _confirmed_at
    if generation == _generation:
        _confirmed_at = time.monotonic()
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
