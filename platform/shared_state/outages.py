"""Outages of PostgreSQL and Redis: their names, and what a task does during one."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from logging import Logger

import psycopg
import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from kombu.exceptions import OperationalError as BrokerError
from psycopg import errors as postgres

from shared_state.script_socket import RedisAway

# Callers wait and retry after these.
AWAY = (
    redis.RedisError,
    BrokerError,
    OperationalError,
    InterfaceError,
    # The areas' fast paths use psycopg directly, without Django.
    psycopg.OperationalError,
    psycopg.InterfaceError,
    postgres.ReadOnlySqlTransaction,  # columns.database makes it an OperationalError
    OSError,
)
# The names of outages, which are reasons in responses, too.
NAMES = frozenset(
    (
        "disk_full",
        "database_unavailable",
        "database_full",
        "database_read_only",
        "database_busy",
        "redis_unavailable",
        "redis_full",
    )
)
# Below this the servers' own writes fail.
FULL_BYTES = 32_000_000

# Its transaction was rolled back because of another one.
_CONTENTION = (
    postgres.LockNotAvailable,
    postgres.DeadlockDetected,
    postgres.SerializationFailure,
)
# Errors of one statement (too slow, cancelled, no lock): PostgreSQL itself is available.
_STATEMENT_ERRORS = (postgres.QueryCanceled, *_CONTENTION)


@dataclass(frozen=True, slots=True)
class Outage:
    """Why PostgreSQL or Redis is unusable. `name` is one of NAMES: `disk_full` where both lie on
    the run directory's disk; `text` is the message for an operator.
    """

    name: str
    text: str


# Nothing is away: another transaction had what this one needed.
BUSY = Outage("database_busy", "Another request is changing the same data")


def refusal_of(error: BaseException) -> Outage | None:
    """Why a request that failed with the error is refused and may be repeated: an outage, or BUSY
    after a lock timeout, a deadlock or a serialization failure. None for other errors.
    """
    outage = outage_of(error)
    if outage is not None:
        return outage
    causes = (error, error.__cause__) if isinstance(error, DatabaseError) else (error,)
    return BUSY if any(isinstance(each, _CONTENTION) for each in causes) else None


def outage_of(error: BaseException) -> Outage | None:
    """The outage that caused the error; None if the error has another cause."""
    if isinstance(error, RedisAway):
        return _of_redis(redis.ResponseError(str(error))) or _REDIS_AWAY
    if isinstance(error, BrokerError) and isinstance(error.__cause__, redis.RedisError):
        return outage_of(error.__cause__)
    if isinstance(error, redis.RedisError):
        return _of_redis(error)
    if isinstance(error, DatabaseError | InterfaceError):
        if isinstance(error.__cause__, psycopg.Error):
            return _of_postgres(error.__cause__)
        if isinstance(error, OperationalError | InterfaceError):
            return _DATABASE_AWAY
        return None
    return _of_postgres(error) if isinstance(error, psycopg.Error) else None


def is_disk_full() -> bool:
    """Whether the disk of the run directory has no room left for the embedded servers."""
    try:
        return shutil.disk_usage(settings.RUN_DIR).free < FULL_BYTES
    except OSError:
        return False


_DATABASE_AWAY = Outage("database_unavailable", "PostgreSQL does not answer")
_REDIS_AWAY = Outage("redis_unavailable", "Redis does not answer")
# One fault, whichever of the embedded servers meets it first.
_DISK = Outage("disk_full", "the disk of the run directory is full: nothing can be written")
_FULL = Outage("database_full", "PostgreSQL cannot write: its disk is full")
_READ_ONLY = Outage("database_read_only", "PostgreSQL cannot write: it is read-only")
NODE_AWAY = Outage("database_unavailable", "a node of the cluster does not answer")
_CROWDED = Outage(
    "database_unavailable", "PostgreSQL has no connection left: max_connections, or the pooler's"
)
# A connection that is refused has no code, only PostgreSQL's and PgBouncer's words.
_CROWDED_WORDS = (
    "too many clients",
    "too many connections",
    "connection slots are reserved",
    "no more connections allowed",
)
# What PostgreSQL gives no code of its own: the system's words, in its message.
_WORDS = {"quota exceeded": _FULL, "file too large": _FULL, "read-only file system": _READ_ONLY}


def _of_postgres(error: psycopg.Error) -> Outage | None:
    if isinstance(error, postgres.DiskFull):
        return _DISK if is_disk_full() else _FULL
    if isinstance(error, postgres.ReadOnlySqlTransaction):
        return _READ_ONLY
    if isinstance(error, postgres.QueryCanceled) and settings.ARCHIVE_CLUSTER:
        return NODE_AWAY  # the coordinator waits for one that hangs until the statement's time ends
    if isinstance(error, _STATEMENT_ERRORS):
        return None
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        if any(words in str(error) for words in _CROWDED_WORDS):
            return _CROWDED
        return _DISK if is_disk_full() else _DATABASE_AWAY
    if isinstance(error, psycopg.InternalError | postgres.InsufficientPrivilege):
        message = str(error).lower()
        return next((found for words, found in _WORDS.items() if words in message), None)
    return None


def _of_redis(error: redis.RedisError) -> Outage | None:
    message = str(error)
    if isinstance(error, redis.OutOfMemoryError) or message.startswith("OOM"):
        return Outage("redis_full", "Redis takes no writes: its memory (maxmemory) is full")
    if message.startswith("MISCONF"):
        full = Outage("redis_full", "Redis cannot write: its disk is full or fails")
        return _DISK if is_disk_full() else full
    # redis-py has classes for these, our own connections the words.
    if isinstance(error, redis.BusyLoadingError) or message.startswith("LOADING"):
        return Outage("redis_unavailable", "Redis loads its data")
    if isinstance(error, redis.ReadOnlyError) or message.startswith("READONLY"):
        return Outage("redis_unavailable", "Redis is a read-only replica")
    if isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return _REDIS_AWAY
    return None


@contextlib.contextmanager
def until_next_call(name: str, log: Logger) -> Iterator[None]:
    """During an outage the task ends with a warning: the schedule calls it again."""
    try:
        yield
    except AWAY as error:
        connection.close()
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        log.warning("%s waits for the database or Redis: %s", name, reason)
