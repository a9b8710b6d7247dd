"""The process's general Redis client: short timeouts, no retries."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

TIMEOUT_SECONDS = 0.5
NAMESPACE = "tidemark:"


def client() -> redis.Redis:
    """The client of the REDIS_URL of now. Its pool detects a fork by itself."""
    return client_of(settings.REDIS_URL)


@cache
def client_of(url: str, timeout_seconds: float = TIMEOUT_SECONDS) -> redis.Redis:
    """Without the default retries, which take seconds."""
    pool = redis.ConnectionPool.from_url(
        url,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
    )
    return redis.Redis.from_pool(pool)


def run_script(source: str, keys: Sequence[Any] = (), args: Iterable[Any] = ()) -> Any:
    """What the Lua script answers. Raises redis.RedisError."""
    return _script(settings.REDIS_URL, source)(keys=keys, args=args)


@cache
def _script(url: str, source: str) -> Script:
    return client_of(url).register_script(source)


def channel(name: str) -> str:
    """The Pub/Sub channel of the name: unlike keys, a server has its channels for all databases."""
    database = client().connection_pool.connection_kwargs.get("db") or 0
    return f"{NAMESPACE}{database}:{name}"
