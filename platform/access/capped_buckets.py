"""A token bucket with a daily cap (UTC): takes from both or from neither, in one round trip.

Separate from access.buckets, whose callers prefetch tokens: a bucket refills after unspent tokens,
but a day's cap would lose them.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from access import local_buckets
from access.buckets import GENERATION_KEY, Taken
from access.callers import Caller
from shared_state import script_socket
from shared_state.redis_client import NAMESPACE

_DAY_SECONDS = 86_400
# A day's count is kept longer than the day, for processes whose clocks are late.
_KEPT_SECONDS = 2 * _DAY_SECONDS

# The bucket is, as in access.buckets, the time at which it is full. The cap comes first: a caller
# who reached it must wait for the next day, however full the bucket is.
_SCRIPT = script_socket.Script("""
local clock = redis.call('TIME')
local now = (clock[1] - 1700000000) * 1000000 + clock[2]
local rate, burst, cap = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local generation = tonumber(redis.call('GET', KEYS[3]) or 0)
local spent, refused, wait, left = 0, 0, 0, burst
if cap >= 0 then
  spent = tonumber(redis.call('GET', KEYS[2]) or 0)
  if spent >= cap then refused = 2 end
end
if rate > 0 then
  local per_token = 1000000 / rate
  local known = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
  -- No emptier than empty: what was taken at a lower rate fills at the one that holds now.
  local full_at = math.min(known, now + burst * per_token)
  if refused == 0 then
    wait = full_at - now + per_token - burst * per_token
    if wait > 0.5 then refused = 1 else full_at = full_at + per_token end
  end
  if refused == 0 or full_at < known then
    redis.call('SET', KEYS[1], string.format('%.2f', full_at),
               'PX', math.ceil((full_at - now) / 1000) + 1)
  end
  left = math.floor(burst - (full_at - now) / per_token + 0.000001)
end
if refused == 0 and cap >= 0 then
  spent = redis.call('INCR', KEYS[2])
  redis.call('EXPIRE', KEYS[2], ARGV[4])
end
return {generation, refused, math.ceil(wait / 1000), left, spent}
""")

DAILY_CAP = "daily_cap"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The script's words for one caller and day; a rate of 0 is no bucket."""

    bucket_key: str
    cap_key: str
    rate: float
    burst: int
    words: tuple[str | float, ...]


@lru_cache(maxsize=4096)
def _plan(caller: Caller, quota: str, cap: int | None, day: int) -> _Plan | None:
    limit = caller.quotas.get(quota)
    if limit is None and cap is None:
        return None
    holder = "anonymous" if caller.key_id is None else str(caller.key_id)
    bucket_key = f"{NAMESPACE}bucket:{holder}:{quota}"
    cap_key = f"{NAMESPACE}cap:{holder}:{quota}:{day}"
    rate, burst = (limit.rate, limit.burst) if limit is not None else (0.0, 0)
    limits = (rate, burst, -1 if cap is None else cap, _KEPT_SECONDS)
    words = (3, bucket_key, cap_key, GENERATION_KEY, *limits)
    return _Plan(bucket_key, cap_key, rate, burst, words)


def take(caller: Caller, quota: str, *, cap: int | None, now: datetime) -> Taken | None:
    """Takes one token from the caller's bucket and one from the day's cap, or none from either;
    None without both limits. If the cap refused, the Taken's `quota` is DAILY_CAP. Callers without
    a key share one bucket and one cap. While Redis is unavailable this process counts alone.
    """
    day, second = divmod(int(now.timestamp()), _DAY_SECONDS)
    plan = _plan(caller, quota, cap, day)
    if plan is None:
        return None
    generation: int | None = None
    try:
        answer = _SCRIPT.run(*plan.words)
        generation, refused, wait_ms, left, spent = answer
        wait = wait_ms / 1000
    except script_socket.RedisAway:
        refused, wait, left, spent = _take_alone(plan, cap)
    until_midnight = _DAY_SECONDS - second
    if refused == 2 and cap is not None:
        return Taken(False, DAILY_CAP, cap, 0, until_midnight, until_midnight, generation)
    if cap is not None and not refused and (not plan.rate or cap - spent < left):
        # The response reports the nearer limit.
        return Taken(True, DAILY_CAP, cap, max(0, cap - spent), until_midnight, 0, generation)
    return Taken(
        not refused,
        quota,
        plan.burst,
        max(0, left),
        math.ceil((plan.burst - left) / plan.rate),
        max(1, math.ceil(wait)) if refused else 0,
        generation,
    )


def _take_alone(plan: _Plan, cap: int | None) -> tuple[int, float, int, int]:
    """Refused (0 no, 1 by the bucket, 2 by the cap), seconds to wait, tokens left in the bucket,
    tokens spent of the day. Takes before the outage are unknown here.
    """
    if cap == 0:
        return 2, 0.0, plan.burst, 0
    buckets = [(plan.bucket_key, plan.rate, plan.burst)] if plan.rate else []
    if cap is not None:
        # A bucket that takes a day to fill: the cap for the calls of this process.
        buckets.append((plan.cap_key, cap / _DAY_SECONDS, cap))
    refused, wait, remaining = local_buckets.take(buckets, 1)
    spent = 0 if cap is None else cap - max(0, remaining[-1])
    by_cap = refused == len(buckets) and cap is not None
    return (2 if by_cap else refused), wait, remaining[0], spent
