"""Fixed windows by client address, for callers without a key and sign-in (django-ratelimit)."""

import math
import time

import redis
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from django_redis.exceptions import ConnectionInterrupted

from access import local_buckets
from access.buckets import Taken
from access.callers import Quota
from shared_state.script_socket import AWAY_SECONDS
from webserver.address_groups import holder_of

_away_until = 0.0
# django-ratelimit passes one to functions that find the group, key and rate; ours are known.
_NO_REQUEST = HttpRequest()


def take(group: str, address: str, quota: Quota, cost: int = 1) -> Taken:
    """Counts `cost` calls of the address in the group's window, or none if they do not fit. A
    window has `burst` calls and lasts burst / rate seconds, rounded, at least one. While Redis is
    unavailable this process counts alone.
    """
    global _away_until
    holder = holder_of(address)
    period = max(1, round(quota.burst / quota.rate))
    limit = quota.burst
    if _away_until <= time.monotonic():
        try:
            return _take(group, holder, limit, period, cost)
        except (ConnectionInterrupted, redis.RedisError, OSError):
            _away_until = time.monotonic() + AWAY_SECONDS
    bucket = (f"{group}:{holder}", limit / period, limit)
    refused, wait, remaining = local_buckets.take([bucket], cost)
    retry = max(1, math.ceil(wait)) if refused else 0
    return Taken(not refused, group, limit, max(0, remaining[0]), period, retry, None)


def _take(group: str, holder: str, limit: int, period: int, cost: int) -> Taken:
    def count(increment: bool) -> tuple[int, int]:
        """Calls in the window, and the seconds until it ends."""
        usage = get_usage(
            _NO_REQUEST,
            group=group,
            key=lambda _group, _request: holder,
            rate=lambda _group, _request: (limit, period),
            increment=increment,
        )
        if usage is None:  # RATELIMIT_ENABLE is off
            return 0, period
        if not usage["limit"]:
            raise OSError("the window could not be counted")  # django-ratelimit reports it so
        return int(usage["count"]), max(1, int(usage["time_left"]))

    # django-ratelimit cannot take a count back: a batch is checked first, so that one that does not
    # fit leaves the window unchanged.
    if cost > 1:
        counted, left = count(False)
        if counted + cost > limit:
            return Taken(False, group, limit, max(0, limit - counted), left, left, None)
    for _ in range(cost):
        counted, left = count(True)
        if counted > limit:
            return Taken(False, group, limit, 0, left, left, None)
    return Taken(True, group, limit, limit - counted, left, 0, None)


def remaining(group: str, address: str, quota: Quota) -> tuple[int, int] | None:
    """The calls left in the address' window and the seconds until it ends; None if unknown."""
    period = max(1, round(quota.burst / quota.rate))
    try:
        usage = get_usage(
            _NO_REQUEST,
            group=group,
            key=lambda _group, _request: holder_of(address),
            rate=lambda _group, _request: (quota.burst, period),
            increment=False,
        )
    except (ConnectionInterrupted, redis.RedisError, OSError):
        return None
    if usage is None or not usage["limit"]:
        return None
    return max(0, quota.burst - int(usage["count"])), max(1, int(usage["time_left"]))


def forget() -> None:
    global _away_until
    _away_until = 0.0
