"""Clients and connections of Redis: REDIS_URL, timeouts and retries are applied here only."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import redis
from django.conf import settings
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

TIMEOUT_SECONDS = 0.5
NAMESPACE = "tidemark:"

# Replies in the form of RESP2, and no commands at the start beyond what the URL requires.
_PLAIN = {"protocol": 2, "driver_info": None}


def redis_options(timeout_seconds: float = TIMEOUT_SECONDS) -> dict[str, Any]:
    """Arguments of redis-py's clients and pools. Its retries take seconds, so there are none:
    callers know what may be sent again.
    """
    return {
        "socket_timeout": timeout_seconds,
        "socket_connect_timeout": timeout_seconds,
        "retry": Retry(NoBackoff(), 0),
    }


def client() -> redis.Redis:
    """The client of the REDIS_URL of now. Its pool detects a fork by itself."""
    return client_of(settings.REDIS_URL)


@cache
def client_of(url: str, timeout_seconds: float = TIMEOUT_SECONDS) -> redis.Redis:
    """The process's client with this timeout."""
    return redis.Redis.from_url(url, **redis_options(timeout_seconds))


def async_client_of(url: str, timeout_seconds: float = TIMEOUT_SECONDS) -> AsyncRedis:
    """A new client for one event loop: close it there."""
    options = {**redis_options(timeout_seconds), "retry": AsyncRetry(NoBackoff(), 0)}
    made: AsyncRedis = AsyncRedis.from_url(url, **options)
    return made


def connection_of(made: redis.Redis | AsyncRedis) -> Any:
    """A connection of redis-py's for prepared commands, not connected yet, with the client's
    settings. It is not one of the client's pool, which are limited.
    """
    pool = made.connection_pool
    return pool.connection_class(**{**pool.connection_kwargs, **_PLAIN})


def run_script(source: str, keys: Sequence[Any] = (), args: Iterable[Any] = ()) -> Any:
    """What the Lua script answers. Raises redis.RedisError."""
    return _script(settings.REDIS_URL, source)(keys=keys, args=args)


def channel(name: str) -> str:
    """The Pub/Sub channel of the name: unlike keys, a server has its channels for all databases."""
    database = client().connection_pool.connection_kwargs.get("db") or 0
    return f"{NAMESPACE}{database}:{name}"


@cache
def _script(url: str, source: str) -> Script:
    return client_of(url).register_script(source)
