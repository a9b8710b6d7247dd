"""Generation numbers in shared memory that increase with every commit of certain changes: a value
that a process has cached from the database is valid while the number is the same.

A commit increments `begun` before it and `ended` after it. While both are equal nothing is being
committed, and a value read between two reads of the same number is still current. A process that
dies during its commit leaves them unequal: reads then go to the database until `repair` finds that
no commit is in progress.

This requires that every process that writes to the database runs on this machine and maps the same
file, as with the embedded PostgreSQL, which listens only on a socket in the run directory.
Otherwise there is no number, and every read queries the database (docs/decisions/reads.md).
"""

import contextlib
import fcntl
import logging
import mmap
import os
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import TracebackType

from django.conf import settings
from django.core.signals import setting_changed
from django.db import OperationalError, connection, transaction

from columns import raw_queries
from columns.advisory_locks import AdvisoryLock, shared, try_for
from eventloop.faces import is_on_loop, run_aside

log = logging.getLogger(__name__)

_SHARED = f"{shared(AdvisoryLock.GENERATIONS)} IS NULL"
_SIZE = 4_096
_STUCK_SECONDS = 2.0
# Cached values are reread after this time even without commits, to pick up manual changes in SQL.
LONGEST_SECONDS = 60.0

_UNKNOWN = object()
_found: object = _UNKNOWN


class Generation:
    """One number of the shared memory, at the index `place`."""

    def __init__(self, place: int) -> None:
        self._ended, self._begun = 2 * place, 2 * place + 1
        self._stuck_at = -1
        self._stuck_since = 0.0

    def read(self) -> int | None:
        """The current number. None means to query the database: there is no shared memory, a commit
        is in progress, or this is a transaction, which may see uncommitted changes.
        """
        if in_transaction():
            return None
        numbers = _numbers()
        if numbers is None:
            return None
        ended, begun = numbers[self._ended], numbers[self._begun]
        if ended == begun:
            return ended
        self._repair_if_stuck(ended)
        return None

    def moves(self) -> None:
        """Moves the number at commit. Call it in a transaction that changes cached values."""
        if not connection.in_atomic_block:
            raise transaction.TransactionManagementError("a change outside of a transaction")
        if _numbers() is None:
            return
        changed: set[Generation] = connection.changed  # type: ignore[attr-defined]
        if not changed:
            # The server may still be committing for a process that has died.
            raw_queries.fetch_all(_SHARED)
        changed.add(self)

    def _repair_if_stuck(self, ended: int) -> None:
        now = time.monotonic()
        if self._stuck_at != ended:
            self._stuck_at, self._stuck_since = ended, now
        elif now - self._stuck_since > _STUCK_SECONDS:
            self._stuck_since = now
            run_aside(repair)


def in_transaction() -> bool:
    """Whether reads are part of a transaction of Django's connection."""
    return not is_on_loop() and connection.in_atomic_block


class Change:
    """The commit of one transaction: `with Change(generations): commit()`."""

    def __init__(self, generations: Iterable[Generation]) -> None:
        self._generations = list(generations)
        self._held = -1

    def __enter__(self) -> None:
        path = _path()
        if path is None:
            return
        try:
            self._held = os.open(_beside(path, "commits"), os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._held, fcntl.LOCK_SH)
            _count(path, [each._begun for each in self._generations])
        except OSError as error:
            # Django treats it as a failed commit, and rolls back.
            raise OperationalError(f"{path}: {error}") from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        path = _path()
        if self._held < 0 or path is None:
            return
        # After a failed commit the server may still perform it: `repair` finds out.
        if error is None:
            _count(path, [each._ended for each in self._generations])
        os.close(self._held)


def move_all() -> None:
    """Invalidates everything that any process has cached."""
    path = _path()
    if path is not None:
        with Change([Generation(place) for place in range(_SIZE // 16)]):
            pass


def repair() -> None:
    """Makes the numbers equal again if no process and no server session is committing."""
    path = _path()
    numbers = _numbers()
    if path is None or numbers is None:
        return
    held = os.open(_beside(path, "commits"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with transaction.atomic():
                if try_for(AdvisoryLock.GENERATIONS):
                    _make_equal(path, numbers)
    finally:
        os.close(held)


def _make_equal(path: Path, numbers: memoryview) -> None:
    with _exclusive(path):
        for place in range(_SIZE // 16):
            if numbers[2 * place] != numbers[2 * place + 1]:
                log.warning("a process died during its commit: cached values are dropped")
                # Higher than any number read so far, `begun` first.
                numbers[2 * place + 1] += 1
                numbers[2 * place] = numbers[2 * place + 1]


def _count(path: Path, cells: list[int]) -> None:
    numbers = _numbers()
    assert numbers is not None
    with _exclusive(path):
        for cell in cells:
            numbers[cell] += 1


class _exclusive:
    """Excludes other processes from changing the numbers."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        self._held = os.open(self._path, os.O_RDWR)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._held)


def _path() -> Path | None:
    shared = _shared()
    return None if shared is None else shared[0]


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}.{what}")


def _numbers() -> memoryview | None:
    shared = _shared()
    return None if shared is None else shared[1]


def _shared() -> tuple[Path, memoryview] | None:
    global _found
    if _found is _UNKNOWN:
        folder = settings.SHARED_MEMORY_DIR
        _found = folder and _mapped(folder, settings.DATABASES["default"]["NAME"])
    return _found  # type: ignore[return-value]


def forget(**_signal: object) -> None:
    """Looks up the memory again: a setting has changed, which happens in tests."""
    global _found
    _found = _UNKNOWN


setting_changed.connect(forget)


@cache
def _mapped(folder: Path, database: str) -> tuple[Path, memoryview]:
    path = folder / f"generations-{database}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(descriptor).st_size < _SIZE:
            os.ftruncate(descriptor, _SIZE)
        return path, memoryview(mmap.mmap(descriptor, _SIZE)).cast("Q")
    finally:
        os.close(descriptor)
