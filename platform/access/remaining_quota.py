"""The remaining quota of a caller, read without taking from it."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import redis

from access.callers import Caller
from shared_state.redis_client import NAMESPACE, client

_DAY_SECONDS = 86_400
# The Unix time from which access.buckets counts its microseconds.
_ORIGIN = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Remaining:
    """The tokens in a bucket, and the seconds until it is full."""

    remaining: int
    reset_seconds: int


@dataclass(frozen=True, slots=True)
class RemainingQuota:
    """The remaining tokens by the quota's name, and the day's fetches. A busy key may have somewhat
    more: processes hold prefetched tokens.
    """

    by_name: dict[str, Remaining]
    fetched_today: int


def read(caller: Caller, *, now: datetime) -> RemainingQuota | None:
    """None while Redis is unavailable."""
    holder = "anonymous" if caller.key_id is None else str(caller.key_id)
    names = list(caller.quotas)
    day = int(now.timestamp()) // _DAY_SECONDS
    keys = [f"{NAMESPACE}bucket:{holder}:{name}" for name in names]
    try:
        with client().pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.mget([*keys, f"{NAMESPACE}cap:{holder}:tip_fetches:{day}"])
            clock, values = cast(tuple[tuple[int, int], list[Any]], tuple(pipe.execute()))
    except redis.RedisError:
        return None
    moment = (clock[0] - _ORIGIN) * 1_000_000 + clock[1]
    by_name = {}
    for name, value in zip(names, values[:-1], strict=True):
        quota = caller.quotas[name]
        empty = 0.0 if value is None else max(0.0, (float(value) - moment) * quota.rate / 1e6)
        by_name[name] = Remaining(
            max(0, math.floor(quota.burst - empty + 1e-6)), math.ceil(empty / quota.rate)
        )
    return RemainingQuota(by_name, int(values[-1] or 0))
