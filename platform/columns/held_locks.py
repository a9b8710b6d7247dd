"""Advisory locks that outlive a transaction, each held by a connection of its own.

The connection stays in one transaction: behind a pooler this keeps the server session, while a
session lock would stay with a session that other clients use. The transaction has no snapshot
between its statements, so that it does not hold back vacuum.
"""

import contextlib
from typing import Any

import psycopg
from django.db import connection

from columns import hung_server
from columns.advisory_locks import AdvisoryLock, attempt

# Connection parameters of Django only, and psycopg's automatic prepared statements.
_LEFT_OUT = ("cursor_factory", "context", "prepare_threshold")
_TRANSACTION_TIMEOUT_SINCE = 170_000


class HeldLock:
    """An advisory lock that outlives transactions."""

    def __init__(self, kind: AdvisoryLock, number: int) -> None:
        self._attempt = attempt(kind, number)
        self._connection: psycopg.Connection[Any] | None = None

    def take(self) -> bool:
        """Whether the lock is held now. Raises psycopg's errors while the database is down."""
        if self._connection is not None:
            return True
        self._connection = _connect()
        try:
            taken = self._try()
        except BaseException:
            self.release()
            raise
        if not taken:
            self.release()
        return taken

    def check(self) -> None:
        """Raises psycopg's errors if the connection, and with it the lock, is lost."""
        if self._connection is not None:
            self._connection.execute("SELECT 1")

    def release(self) -> None:
        """The lock is free when this returns; where the server does not answer, once it notices
        that the connection is closed.
        """
        held, self._connection = self._connection, None
        if held is not None:
            with contextlib.suppress(psycopg.Error), held:
                held.rollback()

    def _try(self) -> bool:
        assert self._connection is not None
        execute = self._connection.execute
        execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        if self._connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE:
            execute("SET LOCAL transaction_timeout = 0")
        return execute(self._attempt).fetchone() == (True,)


def _connect() -> psycopg.Connection[Any]:
    parameters = connection.get_connection_params()
    for name in _LEFT_OUT:
        parameters.pop(name, None)
    hung_server.require_answers()
    raw = psycopg.connect(**parameters, autocommit=True, prepare_threshold=None)
    hung_server.watch(raw, parameters)
    return raw
