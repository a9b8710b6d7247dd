"""This process's object store, opened when it is first used, and the threads that read from it."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass, field
from typing import NamedTuple

from rewind.errors import ArchiveStoreUnavailable
from upstream.object_store import NoSuchObject, ObjectStore, Options, StoreFault

# Ranges that are fetched at once.
_FETCHES = 16
# Threads that a store may hold up once a read has taken so long: others need them.
_HELD_UP, _SLOW_SECONDS = 3, 1.0


@dataclass(frozen=True, slots=True)
class Terms:
    """Where the store is, and its limits; an empty URL is none."""

    url: str = ""
    options: Options | None = field(default=None, repr=False)
    timeout_seconds: int = 10
    cache_bytes: int = 64 << 20


class Range(NamedTuple):
    """Bytes of an object."""

    name: str
    start: int
    size: int


_terms = Terms()
_lock = threading.Lock()
_store: ObjectStore | None = None
_fetches: ThreadPoolExecutor | None = None
# When the reads of threads began that they wait for.
_waiting: dict[int, float] = {}


def configure(terms: Terms) -> None:
    """The store is this one from now on."""
    global _terms
    _terms = terms
    close()


def terms() -> Terms:
    return _terms


def close() -> None:
    """The next read opens the store again."""
    global _store, _fetches
    if _fetches is not None:
        _fetches.shutdown(wait=False, cancel_futures=True)
    _store = _fetches = None
    _waiting.clear()


def _forget_parent() -> None:
    """What belonged to the parent's threads; a lock that one of them held stays held."""
    global _store, _fetches, _lock
    _store = _fetches = None
    _lock = threading.Lock()
    _waiting.clear()


os.register_at_fork(after_in_child=_forget_parent)


def opened() -> ObjectStore:
    """Raises StoreFault, and ArchiveStoreUnavailable where none is configured."""
    global _store
    with _lock:
        if _store is None:
            if not _terms.url:
                raise ArchiveStoreUnavailable("ARCHIVE_STORE is not set")
            _store = ObjectStore(_terms.url, _terms.options, timeout_seconds=_terms.timeout_seconds)
        return _store


def fetched(ranges: Sequence[Range]) -> list[bytes | None]:
    """The bytes of each range, fewer where the object ends; None where there is no such object.
    Raises ArchiveStoreUnavailable.
    """
    _enter()
    try:
        return _all(ranges)
    finally:
        with _lock:
            _waiting.pop(threading.get_ident(), None)


def _enter() -> None:
    now = time.monotonic()
    with _lock:
        slow = any(now - since > _SLOW_SECONDS for since in _waiting.values())
        if slow and len(_waiting) >= _HELD_UP:
            raise ArchiveStoreUnavailable("it responds slowly, and other reads wait for it")
        _waiting[threading.get_ident()] = now


def _all(ranges: Sequence[Range]) -> list[bytes | None]:
    try:
        store = opened()
        if len(ranges) == 1:
            return [_one(store, ranges[0])]
        end = time.monotonic() + _terms.timeout_seconds
        started: list[Future[bytes | None]] = [_fetch(store, each) for each in ranges]
        try:
            return [each.result(max(end - time.monotonic(), 0.0)) for each in started]
        except NotInTime:
            raise ArchiveStoreUnavailable("it did not respond in time") from None
        finally:
            for each in started:
                each.cancel()
    except StoreFault as fault:
        raise ArchiveStoreUnavailable(fault.reason) from None


def _one(store: ObjectStore, wanted: Range) -> bytes | None:
    try:
        return store.get_range(*wanted)
    except NoSuchObject:
        return None


def _fetch(store: ObjectStore, wanted: Range) -> "Future[bytes | None]":
    global _fetches
    with _lock:
        if _fetches is None:
            _fetches = ThreadPoolExecutor(_FETCHES, thread_name_prefix="cold-fetch")
        return _fetches.submit(_one, store, wanted)
