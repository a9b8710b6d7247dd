"""One follower per source: a database lock, held by a connection of its own."""

import time
import zlib

from columns.advisory_locks import AdvisoryLock
from columns.held_locks import HeldLock

_LOOK_SECONDS = 2.0


class SecondFollower(Exception):
    """Another process began to follow the source while our connection was lost."""


class SourceLock:
    """Call `take` once, then `keep` before each piece of work."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lock = HeldLock(AdvisoryLock.FOLLOWER, zlib.crc32(source.encode()) - 2**31)
        self._looked_at = 0.0

    def take(self) -> bool:
        """True if the lock is ours now. Raises psycopg's errors while the database is away."""
        return self._lock.take()

    def keep(self) -> None:
        """Checks or retakes the lock. Raises SecondFollower, and psycopg's errors."""
        if time.monotonic() - self._looked_at > _LOOK_SECONDS:
            self._lock.check()
            self._looked_at = time.monotonic()
        if not self._lock.take():
            raise SecondFollower(f"another process follows the {self._source} now")

    def let_go(self) -> None:
        """Another one may take it from now on."""
        self._lock.release()
