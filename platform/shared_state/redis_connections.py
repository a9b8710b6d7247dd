"""Connections for prepared commands. redis-py opens them, so every option of REDIS_URL applies."""

import asyncio
from functools import cache
from typing import Any

import redis
from django.conf import settings
from redis.asyncio import ConnectionPool as AsyncConnectionPool
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from shared_state.redis_client import TIMEOUT_SECONDS

# Replies in the form of RESP2, and no commands at the start beyond what REDIS_URL requires.
_PLAIN = {"protocol": 2, "driver_info": None}
_SHORT = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}


def open_connection() -> Any:
    """A new redis.connection.Connection for blocking use. Raises redis.RedisError."""
    connection = connection_of(_pool(settings.REDIS_URL))
    connection.connect()
    return connection


def short_loop_connection() -> Any:
    """A redis.asyncio.Connection for `open_writer`, with short timeouts."""
    pool = AsyncConnectionPool.from_url(
        settings.REDIS_URL, retry=AsyncRetry(NoBackoff(), 0), **_SHORT
    )
    return connection_of(pool)


def connection_of(pool: redis.ConnectionPool | AsyncConnectionPool) -> Any:
    """A connection with the pool's settings that is not one of the pool's, which are limited."""
    return pool.connection_class(**{**pool.connection_kwargs, **_PLAIN})


async def open_writer(connection: Any, protocol: asyncio.Protocol) -> asyncio.StreamWriter:
    """Connects. From then on `protocol` receives the bytes. The transport lives as long as the
    writer. Raises redis.RedisError.
    """
    try:
        await connection.connect()
        writer: asyncio.StreamWriter | None = connection._writer
    except BaseException:
        connection._close()
        raise
    if writer is None:
        raise redis.ConnectionError("Redis closed the connection")
    connection._reader = connection._writer = None
    writer.transport.set_protocol(protocol)
    return writer


def drop(writer: asyncio.StreamWriter) -> None:
    """Closes the transport at once; its protocol is not called any more."""
    writer.transport.set_protocol(asyncio.Protocol())
    writer.transport.abort()


@cache
def _pool(url: str) -> redis.ConnectionPool:
    return redis.ConnectionPool.from_url(url, retry=Retry(NoBackoff(), 0), **_SHORT)
