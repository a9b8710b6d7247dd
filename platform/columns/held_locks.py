"""Advisory locks that outlive a transaction, each held by a connection of its own.

The connection stays in one transaction: behind a pooler that is what keeps the server's session
ours, where a session's lock would stay with a session that others use. The transaction has no
snapshot between its statements, so that it keeps nothing from being vacuumed.
"""

from typing import Any

import psycopg
from django.db import connection

# Not psycopg's own: what Django alone understands, and statements prepared behind our back.
_LEFT_OUT = ("cursor_factory", "context", "prepare_threshold")
_TRANSACTION_TIMEOUT_SINCE = 170_000


class HeldLock:
    """A lock of two numbers, the first of them its kind's."""

    def __init__(self, kind: int, number: int) -> None:
        self._name = (kind, number)
        self._connection: psycopg.Connection[Any] | None = None

    def take(self) -> bool:
        """Whether the lock is ours now. Raises psycopg's errors while the database is away."""
        if self._connection is not None:
            return True
        self._connection = _connect()
        try:
            taken = self._try()
        except BaseException:
            self.let_go()
            raise
        if not taken:
            self.let_go()
        return taken

    def look(self) -> None:
        """Raises psycopg's errors when the connection, and with it the lock, is lost."""
        if self._connection is not None:
            self._connection.execute("SELECT 1")

    def let_go(self) -> None:
        """Closes the connection, and with it the lock falls."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _try(self) -> bool:
        assert self._connection is not None
        execute = self._connection.execute
        execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        if self._connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE:
            execute("SET LOCAL transaction_timeout = 0")
        return execute("SELECT pg_try_advisory_xact_lock(%s, %s)", self._name).fetchone() == (True,)


def _connect() -> psycopg.Connection[Any]:
    parameters = connection.get_connection_params()
    for name in _LEFT_OUT:
        parameters.pop(name, None)
    return psycopg.connect(**parameters, autocommit=True, prepare_threshold=None)
