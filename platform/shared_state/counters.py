"""Counters of all processes that only grow, in one hash in Redis that is never emptied."""

import logging
from collections.abc import Mapping
from typing import Any

import redis

from shared_state.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

KEY = f"{NAMESPACE}tallies"
# Calls and the microseconds spent on them, by method and status; access.usage adds to them.
CALLS, CALL_MICROSECONDS = "calls", "call_microseconds"
# Calls by the bucket of their time, of all methods together (shared_state.time_buckets).
CALL_TIMES = "call_times"
# Submissions by the state that they reached, attempts by upstream and outcome.
SUBMISSIONS, ATTEMPTS = "submissions", "attempts"
# Slots that were stored, by ledger and archive; the account writes and transactions with them.
SLOTS, WRITES, TRANSACTIONS = "slots", "writes", "transactions"
# Changes and transactions that were sealed, by archive and ledger, the CPU time of the worker for
# it, and failed runs of background tasks, by task.
SEALED, SEALING_MICROSECONDS = "sealed", "sealing_microseconds"
TASK_FAILURES = "task_failures"

# What is counted, then its labels.
CounterName = tuple[str, ...]


def field_of(*name: str) -> str:
    """The counter's field in the hash."""
    return "|".join(part.replace("|", "_") for part in name)


def add(counts: Mapping[CounterName, int]) -> None:
    """Called after what is counted is stored. While Redis is unavailable nothing is counted: these
    figures are for display only, and no call waits for them.
    """
    chosen = {name: count for name, count in counts.items() if count}
    if not chosen:
        return
    try:
        with client().pipeline(transaction=False) as pipe:
            for name, count in chosen.items():
                pipe.hincrby(KEY, field_of(*name), count)
            pipe.execute()
    except redis.RedisError as error:
        log.debug("%d counters were not written: %s", len(chosen), error)


def read() -> dict[CounterName, int]:
    """Every counter since this Redis began. Raises redis.RedisError."""
    found: Any = client().hgetall(KEY)
    return {tuple(name.decode().split("|")): int(count) for name, count in found.items()}
