"""Fixed windows per client address: keyless callers and sign-in, counted by django-ratelimit."""

import math
import time
from ipaddress import ip_address, ip_network

import redis
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from django_redis.exceptions import ConnectionInterrupted

from access import local_buckets
from access.buckets import Taken
from access.callers import Quota
from access.script_socket import AWAY_SECONDS

_away_until = 0.0


def take(request: HttpRequest, group: str, address: str, quota: Quota, cost: int = 1) -> Taken:
    """Counts `cost` calls of the address in the group's window: `burst` calls in the whole seconds
    that the rate needs for them. While Redis is away this process counts alone.
    """
    global _away_until
    holder = holder_of(address)
    period = max(1, math.ceil(quota.burst / quota.rate))
    limit = max(1, math.floor(quota.rate * period))
    if _away_until <= time.monotonic():
        try:
            return _take(request, group, holder, limit, period, cost)
        except (ConnectionInterrupted, redis.RedisError, OSError):
            _away_until = time.monotonic() + AWAY_SECONDS
    bucket = (f"{group}:{holder}", limit / period, limit)
    refused, wait, remaining = local_buckets.take([bucket], cost)
    retry = max(1, math.ceil(wait)) if refused else 0
    return Taken(not refused, group, limit, max(0, remaining[0]), period, retry, None)


def _take(
    request: HttpRequest, group: str, holder: str, limit: int, period: int, cost: int
) -> Taken:
    usage = None
    # django-ratelimit counts by one; a batch above the limit need not be counted to its end.
    for _ in range(min(cost, limit + 1)):
        usage = get_usage(
            request,
            group=group,
            key=lambda _group, _request: holder,
            rate=lambda _group, _request: (limit, period),
            increment=True,
        )
        if usage is None or usage["should_limit"]:
            break
    if usage is None:  # RATELIMIT_ENABLE is off
        return Taken(True, group, limit, limit, 0, 0, None)
    left = max(1, int(usage["time_left"]))
    refused = bool(usage["should_limit"])
    return Taken(
        not refused, group, limit, max(0, limit - int(usage["count"])), left, left * refused, None
    )


def holder_of(address: str) -> str:
    """Whom an address stands for: itself, or in IPv6 the /64 that one subscriber has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:64]
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), 64), strict=False).network_address)


def forget() -> None:
    global _away_until
    _away_until = 0.0
