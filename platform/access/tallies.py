"""Numbers that only grow, of all processes together: one hash in Redis that nothing empties."""

import logging
from collections.abc import Mapping
from typing import Any

import redis

from access.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

KEY = f"{NAMESPACE}tallies"
# Calls and the microseconds spent on them, by method and status; access.usage adds to them.
CALLS, CALL_MICROSECONDS = "calls", "call_microseconds"
# Submissions by the state that they came to, tries by upstream and outcome.
SUBMISSIONS, ATTEMPTS = "submissions", "attempts"
# Slots that were stored, by ledger and archive; the account writes and transactions with them.
SLOTS, WRITES, TRANSACTIONS = "slots", "writes", "transactions"

# What is counted: its name and its labels.
Tally = tuple[str, ...]


def field_of(*tally: str) -> str:
    """The tally's name in the hash."""
    return "|".join(part.replace("|", "_") for part in tally)


def add(counts: Mapping[Tally, int]) -> None:
    """To be called after what is counted is stored. While Redis is away nothing is counted: these
    are figures for people, and nobody waits for them.
    """
    chosen = {tally: count for tally, count in counts.items() if count}
    if not chosen:
        return
    try:
        with client().pipeline(transaction=False) as pipe:
            for tally, count in chosen.items():
                pipe.hincrby(KEY, field_of(*tally), count)
            pipe.execute()
    except redis.RedisError as error:
        log.debug("%d tallies were not counted: %s", len(chosen), error)


def read() -> dict[Tally, int]:
    """Every tally since this Redis began. Raises redis.RedisError."""
    found: Any = client().hgetall(KEY)
    return {tuple(name.decode().split("|")): int(count) for name, count in found.items()}
