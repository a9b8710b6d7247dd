"""Numbers that move with every commit of something, in memory that this machine's processes share:
what a process remembers of the database is right while the number is the same.

A commit counts `begun` before it and `ended` behind it. Where both are equal nothing is being
committed, and what was read from the database between two looks at the same number is how the
database still is. A process that dies at its commit leaves them unequal: the database is asked
until `repair` finds that nobody is committing any more.

This holds where every process that writes to the database is on this machine and finds the same
file: with the embedded PostgreSQL, which listens on a socket of the run directory alone. Elsewhere
there is no number, and every read asks the database (docs/decisions/point-reads.md).
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
from eventloop.calls import current_call

log = logging.getLogger(__name__)

# Held, shared, by each transaction that will move a number: the server may still be at the commit
# of a process that is gone.
_LOCK = 7_341
_SIZE = 4_096
_STUCK_SECONDS = 2.0
# However often nothing has moved, what is remembered is read anew after this: changes made by hand
# in SQL arrive.
LONGEST_SECONDS = 60.0

_UNKNOWN = object()
_found: object = _UNKNOWN


class Generation:
    """One number of the shared memory; `place` is its own among all."""

    def __init__(self, place: int) -> None:
        self._ended, self._begun = 2 * place, 2 * place + 1
        self._stuck_at = -1
        self._stuck_since = 0.0

    def read(self) -> int | None:
        """The number now; None where there is none, or while a commit is under way: then the
        database is to be asked. In a transaction, which sees what no other does, there is none.
        """
        call = current_call()
        if call is None and connection.in_atomic_block:
            return None
        numbers = _numbers()
        if numbers is None:
            return None
        ended, begun = numbers[self._ended], numbers[self._begun]
        if ended == begun:
            return ended
        self._look_whether_stuck(ended)
        return None

    def moves(self) -> None:
        """To be called in a transaction that changes what the number stands for."""
        if not connection.in_atomic_block:
            raise transaction.TransactionManagementError("a change outside of a transaction")
        if _numbers() is None:
            return
        changed: set[Generation] = connection.changed  # type: ignore[attr-defined]
        if not changed:
            raw_queries.fetch_all("SELECT pg_advisory_xact_lock_shared($1) IS NULL", _LOCK)
        changed.add(self)

    def _look_whether_stuck(self, ended: int) -> None:
        now = time.monotonic()
        if self._stuck_at != ended:
            self._stuck_at, self._stuck_since = ended, now
        elif now - self._stuck_since > _STUCK_SECONDS:
            self._stuck_since = now
            call = current_call()
            if call is None:
                repair()
            else:
                call.in_thread(repair)


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
            # What Django takes for a commit that failed, and rolls back.
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
        # Where the commit failed nobody knows whether the server does it still: `repair` asks.
        if error is None:
            _count(path, [each._ended for each in self._generations])
        os.close(self._held)


def move_all() -> None:
    """Everything that any process remembers is forgotten."""
    path = _path()
    if path is not None:
        with Change([Generation(place) for place in range(_SIZE // 16)]):
            pass


def repair() -> None:
    """Makes the numbers equal again where no process and no session of the server commits."""
    path = _path()
    numbers = _numbers()
    if path is None or numbers is None:
        return
    held = os.open(_beside(path, "commits"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
                if cursor.fetchone()[0]:
                    _make_equal(path, numbers)
    finally:
        os.close(held)


def _make_equal(path: Path, numbers: memoryview) -> None:
    with _alone(path):
        for place in range(_SIZE // 16):
            if numbers[2 * place] != numbers[2 * place + 1]:
                log.warning("a process ended while it committed: what was remembered is forgotten")
                # Beyond all that was ever read, `begun` first.
                numbers[2 * place + 1] += 1
                numbers[2 * place] = numbers[2 * place + 1]


def _count(path: Path, cells: list[int]) -> None:
    numbers = _numbers()
    assert numbers is not None
    with _alone(path):
        for cell in cells:
            numbers[cell] += 1


class _alone:
    """While one process counts, no other does."""

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
    """Looks for the memory anew: a setting has changed, which happens in tests."""
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
