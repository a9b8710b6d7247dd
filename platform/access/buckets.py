"""A caller's token buckets, exact over processes: one script and one round trip for each request.

A bucket is one number in Redis: the time (microseconds of Redis' clock) at which it is full. A call
that costs more than the burst passes when the bucket is full and puts it into debt, so that a batch
can always be served and the long-term rate still holds.
"""

import math
import os
from dataclasses import dataclass
from functools import lru_cache

from access import local_buckets
from access.callers import Caller
from access.prefetched_tokens import PrefetchedTokens, most_of
from eventloop.faces import complete
from shared_state import script_socket
from shared_state.redis_client import NAMESPACE

GENERATION_KEY = f"{NAMESPACE}generation"

_SCRIPT = script_socket.Script("""
local clock = redis.call('TIME')
local now = (clock[1] - 1700000000) * 1000000 + clock[2]
local count = #KEYS - 1
local cost = tonumber(ARGV[2 * count + 1])
local ahead = tonumber(ARGV[2 * count + 2])
local refused, wait = 0, 0
local full_at, per_token, burst = {}, {}, {}
for i = 1, count do
  per_token[i] = 1000000 / ARGV[2 * i - 1]
  burst[i] = tonumber(ARGV[2 * i])
  full_at[i] = math.max(tonumber(redis.call('GET', KEYS[i]) or now), now)
  local needed = math.min(cost, burst[i]) * per_token[i]
  local missing = needed + full_at[i] - now - burst[i] * per_token[i]
  if missing > 0.5 and missing > wait then
    refused, wait = i, missing
  end
  if full_at[i] - now + (cost + ahead) * per_token[i] > burst[i] * per_token[i] / 2 then
    ahead = 0
  end
end
local generation = tonumber(redis.call('GET', KEYS[count + 1]) or 0)
local answer = {generation, refused, math.ceil(wait / 1000), ahead}
for i = 1, count do
  if refused == 0 then
    full_at[i] = full_at[i] + (cost + ahead) * per_token[i]
    redis.call('SET', KEYS[i], string.format('%.2f', full_at[i]),
               'PX', math.ceil((full_at[i] - now) / 1000) + 1)
  end
  answer[4 + i] = math.floor(burst[i] - (full_at[i] - now) / per_token[i] + 0.000001)
end
return answer
""")


@dataclass(frozen=True, slots=True)
class Taken:
    """Whether a request got its tokens, with the figures of its nearest limit.

    `reset_seconds` is the time until that bucket is full, `retry_seconds` (0 when allowed) the time
    to wait before a retry, `generation` that of the key tables (None: not read from Redis).
    """

    allowed: bool
    quota: str
    limit: int
    remaining: int
    reset_seconds: int
    retry_seconds: int
    generation: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The buckets for one kind of request of one caller; `words` are those of the script up to the
    cost.
    """

    names: list[str]
    buckets: list[tuple[str, float, int]]
    words: list[str]
    prefetched: PrefetchedTokens


@lru_cache(maxsize=8192)
def plan_of(caller: Caller, quota: str) -> Plan | None:
    """The caller's buckets `requests` and `quota`; None when neither has a limit. Callers without a
    key share the quota's bucket; their requests are counted per address (access.windows).
    """
    asked = (quota,) if caller.key_id is None else dict.fromkeys(("requests", quota))
    names = [name for name in asked if name in caller.quotas]
    if not names:
        return None
    holder = "anonymous" if caller.key_id is None else str(caller.key_id)
    buckets = [
        (f"{NAMESPACE}bucket:{holder}:{name}", caller.quotas[name].rate, caller.quotas[name].burst)
        for name in names
    ]
    words = [str(len(buckets) + 1), *(key for key, _, _ in buckets), GENERATION_KEY]
    for _key, rate, burst in buckets:
        words += [str(rate), str(burst)]
    return Plan(
        names,
        buckets,
        words,
        PrefetchedTokens(most_of([burst for _, _, burst in buckets])),
    )


# A child must not spend the tokens that its parent prefetched.
os.register_at_fork(after_in_child=plan_of.cache_clear)


def take(plan: Plan, cost: int = 1) -> Taken:
    """Takes `cost` tokens from every bucket of the plan, or from none. Never raises for Redis."""
    return complete(atake(plan, cost))


async def atake(plan: Plan, cost: int = 1) -> Taken:
    """The same, awaited."""
    prefetched = plan.prefetched
    held = prefetched.spend(cost)
    if held is not None:
        return _taken(plan, 0, 0.0, [held] * len(plan.buckets), None)
    ahead = prefetched.wanted()
    paid = prefetched.drain()
    try:
        answer = await _SCRIPT.arun(*plan.words, cost - paid, ahead)
        generation, refused, retry_ms, granted, *remaining = answer
    except script_socket.RedisAway:
        refused, wait, remaining = local_buckets.take(plan.buckets, cost)
        return _taken(plan, refused, wait, remaining, None)
    if refused and paid:
        prefetched.put_back(paid)
        remaining = [left + paid for left in remaining]
    prefetched.grant(0 if refused else granted, min(remaining))
    return _taken(plan, refused, retry_ms / 1000, remaining, generation)


def _taken(
    plan: Plan, refused: int, retry: float, remaining: list[int], generation: int | None
) -> Taken:
    shown = refused - 1 if refused else remaining.index(min(remaining))
    _key, rate, burst = plan.buckets[shown]
    left = remaining[shown]
    return Taken(
        not refused,
        plan.names[shown],
        burst,
        left if left > 0 else 0,
        math.ceil((burst - left) / rate),
        max(1, math.ceil(retry)) if refused else 0,
        generation,
    )
