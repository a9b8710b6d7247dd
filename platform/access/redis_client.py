"""The process's Redis client for everything that is not a limit: short waits, no retries."""

from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_SECONDS = 0.5
NAMESPACE = "tidemark:"


@cache
def client() -> redis.Redis:
    """The client's pool notices a fork by itself; the default policy would retry for seconds."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
