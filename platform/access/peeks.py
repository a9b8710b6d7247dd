"""What is left of a caller's limits, looked at without taking."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import redis

from access.callers import Caller
from shared_state.redis_client import NAMESPACE, client

_DAY_SECONDS = 86_400
# From which access.buckets counts its microseconds.
_ORIGIN = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a bucket, and in how many seconds it is full again."""

    remaining: int
    reset_seconds: int


@dataclass(frozen=True, slots=True)
class Peek:
    """What is left by the name of the quota, and the fetches taken of the day. It is somewhat
    less than what a busy key may still ask for: processes hold tokens that they took ahead.
    """

    left: dict[str, Left]
    fetched_today: int


def peek(caller: Caller, *, now: datetime) -> Peek | None:
    """None while Redis is away."""
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
    left = {}
    for name, value in zip(names, values[:-1], strict=True):
        quota = caller.quotas[name]
        empty = 0.0 if value is None else max(0.0, (float(value) - moment) * quota.rate / 1e6)
        left[name] = Left(
            max(0, math.floor(quota.burst - empty + 1e-6)), math.ceil(empty / quota.rate)
        )
    return Peek(left, int(values[-1] or 0))
