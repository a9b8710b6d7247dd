"""The treasury's balance by the node: read by the worker, cached in Redis for pages."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import redis
from solders.pubkey import Pubkey

from shared_state.redis_client import NAMESPACE, client
from upstream.balances import balances
from upstream.node import Node

_KEY = f"{NAMESPACE}tips:treasury"
_KEPT_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Reading:
    """Lamports at a finalized slot, and when they were read."""

    lamports: int
    slot: int
    at: datetime


def read(node: Node, address: Pubkey, *, now: datetime) -> None:
    """Reads the balance from the node and caches it. Raises NodeError, redis.RedisError."""
    found = balances(node, [address])
    reading = {
        "address": str(address),
        "lamports": found.lamports[address],
        "slot": found.slot,
        "at": now.timestamp(),
    }
    client().set(_KEY, json.dumps(reading), ex=_KEPT_SECONDS)


def last_reading(address: Pubkey) -> Reading | None:
    """The last reading of the past hour; None if there is none for that address, or Redis is
    down.
    """
    try:
        value = cast(bytes | None, client().get(_KEY))
    except redis.RedisError:
        return None
    found: dict[str, Any] = {} if value is None else json.loads(value)
    if found.get("address") != str(address):
        return None
    return Reading(found["lamports"], found["slot"], datetime.fromtimestamp(found["at"], UTC))
