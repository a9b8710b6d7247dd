"""What the node says that the treasury holds: read by the worker, remembered for pages."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import redis
from solders.pubkey import Pubkey

from access.redis_client import NAMESPACE, client
from upstream.balances import balances
from upstream.node import Node

_KEY = f"{NAMESPACE}tips:treasury"
_KEPT_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Reading:
    """Lamports at a finalized slot, and when that was asked."""

    lamports: int
    slot: int
    at: datetime


def read(node: Node, address: Pubkey, *, now: datetime) -> None:
    """Asks the node and remembers its answer. Raises NodeError, redis.RedisError."""
    found = balances(node, [address])
    told = {
        "address": str(address),
        "lamports": found.lamports[address],
        "slot": found.slot,
        "at": now.timestamp(),
    }
    client().set(_KEY, json.dumps(told), ex=_KEPT_SECONDS)


def last_reading(address: Pubkey) -> Reading | None:
    """The last answer of the past hour, for that address; None where nobody asked, or Redis is
    away.
    """
    try:
        value = cast(bytes | None, client().get(_KEY))
    except redis.RedisError:
        return None
    told: dict[str, Any] = {} if value is None else json.loads(value)
    if told.get("address") != str(address):
        return None
    return Reading(told["lamports"], told["slot"], datetime.fromtimestamp(told["at"], UTC))
