"""The process's general Redis client: short timeouts, no retries."""

from functools import cache
from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from eventloop.calls import require_thread

TIMEOUT_SECONDS = 0.5
NAMESPACE = "tidemark:"


class _Pool(redis.ConnectionPool):
    """Connections for code that may block: raises on an event loop."""

    def get_connection(self, *args: Any, **options: Any) -> Any:
        require_thread()
        return super().get_connection(*args, **options)


@cache
def client() -> redis.Redis:
    """Its pool detects a fork by itself. Without the default retries, which take seconds."""
    pool = _Pool.from_url(
        settings.REDIS_URL,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return redis.Redis.from_pool(pool)


def channel(name: str) -> str:
    """The Pub/Sub channel of the name: unlike keys, a server has its channels for all databases."""
    database = client().connection_pool.connection_kwargs.get("db") or 0
    return f"{NAMESPACE}{database}:{name}"
