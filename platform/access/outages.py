"""PostgreSQL or Redis away: how that shows, and what a task does then."""

import contextlib
from collections.abc import Iterator
from logging import Logger

import psycopg
import redis
from django.db import InterfaceError, OperationalError, connection
from kombu.exceptions import OperationalError as BrokerError

# Whoever meets these waits and tries again.
AWAY = (
    redis.RedisError,
    BrokerError,
    OperationalError,
    InterfaceError,
    # The areas' fast paths speak to psycopg without Django between.
    psycopg.OperationalError,
    psycopg.InterfaceError,
    OSError,
)


@contextlib.contextmanager
def until_next_call(name: str, log: Logger) -> Iterator[None]:
    """While the database or Redis is away a task ends with a line: it is called again anyway."""
    try:
        yield
    except AWAY as error:
        connection.close()
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        log.warning("%s waits for the database or Redis: %s", name, reason)
