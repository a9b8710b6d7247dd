"""The database's advisory locks. Each has two numbers: its kind, and which one of that kind (0 if
there is only one). PostgreSQL never confuses them with locks of a single number.

Most end with their transaction. One that outlives it (`HeldLock`) has a connection of its own,
which stays in one transaction: behind a pooler this keeps the server session, while a session lock
would stay with a session that other clients use. The transaction has no snapshot between its
statements, so that it does not hold back vacuum.
"""

import contextlib
from enum import IntEnum, unique
from typing import Any

import psycopg
from django.db import connection

from columns import hung_server
from columns.queries import execute, first_row

# Connection parameters of Django only, and psycopg's automatic prepared statements.
_LEFT_OUT = ("cursor_factory", "context", "prepare_threshold")
_TRANSACTION_TIMEOUT_SINCE = 170_000


@unique
class AdvisoryLock(IntEnum):
    """The kinds. All advisory locks of the service are listed here, so that no two are the same."""

    LEDGER_IMPORT = 7_301  # of an import's row
    ARCHIVE_PARTITIONS = 7_302
    GAPS = 7_303
    OWNERS = 7_304
    ARCHIVED_SLOT = 7_305  # of a slot, modulo a small number
    ARCHIVE_WINDOW = 7_306
    ACCOUNT_INDEX = 7_307
    FOLLOWER = 7_308  # of a source
    SLOT_WRITER = 7_309
    JOBS_OF_KEY = 7_311  # of an API key
    SNAPSHOT_IMPORT = 7_312  # of a table
    ARCHIVE_SEALING = 7_313
    TIP_LEDGER = 7_320
    TIP_BATCHES = 7_321
    TIP_DAYS = 7_322
    SETTLING = 7_330
    LANDING_COUNTS = 7_340
    GENERATIONS = 7_341
    MOVING_SEGMENTS = 7_342
    SPREADING_TABLES = 7_343
    ARCHIVE_SCRUBBING = 7_344
    LEDGER_SEALING = 7_360
    LEDGER_SCRUBBING = 7_361
    PROVING = 7_371
    CLUSTER_COMMITS = 7_390
    AUDIT_LOG = 7_340_210
    ROUTING_EVENTS = 7_340_211
    STAFF_WEBHOOKS = 7_340_212
    WATCHING = 7_340_220


def exclusive(lock: AdvisoryLock, number: str = "0") -> str:
    """The statement that waits for the lock; `number` may be a column."""
    return f"SELECT pg_advisory_xact_lock({lock.value}, {number})"


def shared(lock: AdvisoryLock) -> str:
    """The statement that waits to share the lock with others that share it."""
    return f"SELECT pg_advisory_xact_lock_shared({lock.value}, 0)"


def attempt(lock: AdvisoryLock, number: int) -> str:
    """The statement that takes the lock unless another has it, and returns whether it did."""
    return f"SELECT pg_try_advisory_xact_lock({lock.value}, {number})"


def wait_for(lock: AdvisoryLock, number: int = 0) -> None:
    """Holds the lock until the transaction ends."""
    execute(exclusive(lock, str(number)))


def share(lock: AdvisoryLock) -> None:
    """Shares the lock until the transaction ends."""
    execute(shared(lock))


def try_for(lock: AdvisoryLock, number: int = 0) -> bool:
    """Whether this transaction holds the lock until it ends; False if another has it."""
    return bool(first_row(attempt(lock, number))[0])


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
