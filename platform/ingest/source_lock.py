"""One follower a source: an advisory lock of the database, held by a connection of its own."""

import time
from typing import Any

import psycopg
from django.db import connections

# The first half of the lock's name, so that nobody else's numbers meet ours.
_FOLLOWERS = 7_306
_LOOK_SECONDS = 2.0


class SecondFollower(Exception):
    """Another process has begun to follow the source while our connection was lost."""


class SourceLock:
    """Take it once by `take`, then `keep` it before each piece of work."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._connection: psycopg.Connection[Any] | None = None
        self._looked_at = 0.0

    def take(self) -> bool:
        """Whether the lock is ours now. Raises psycopg's errors while the database is away."""
        if self._connection is None:
            parameters = connections["default"].get_connection_params()
            for name in ("cursor_factory", "context", "prepare_threshold"):
                parameters.pop(name, None)
            self._connection = psycopg.connect(**parameters, autocommit=True)
            row = self._connection.execute(
                "SELECT pg_try_advisory_lock(%s, hashtext(%s))", (_FOLLOWERS, self._source)
            ).fetchone()
            if row != (True,):
                self.let_go()
                return False
        return True

    def keep(self) -> None:
        """The lock is still ours, or ours again. Raises SecondFollower, and psycopg's errors."""
        if self._connection is not None and time.monotonic() - self._looked_at > _LOOK_SECONDS:
            self._connection.execute("SELECT 1")
            self._looked_at = time.monotonic()
        if not self.take():
            raise SecondFollower(f"another process follows the {self._source} now")

    def let_go(self) -> None:
        """Closes the connection, and with it the lock falls."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
