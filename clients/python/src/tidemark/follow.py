"""A submission's changes: when they end, and what the WebSocket of fates sends of them."""

import json
from typing import Any, Literal, TypeAlias

from tidemark.types import Fate, FateEvent
from tidemark.wire import read_as

# A change by the stream is a FateEvent, one that was polled a whole Fate.
Change: TypeAlias = Fate | FateEvent
Until: TypeAlias = Literal["landed", "finalized"]

_IN_A_BLOCK = ("landed", "failed")
_NO_LONGER_WATCHED = "unknown, watch ended"


def is_over(change: Change, until: Until) -> bool:
    """Whether no more is waited for: final, deep enough in the chain, or lost, when the service no
    longer watches a durable nonce.
    """
    if change.final or (change.reason or "").startswith(_NO_LONGER_WATCHED):
        return True
    return until == "landed" and change.state in _IN_A_BLOCK


def differs(change: Change, last: Change | None) -> bool:
    """Whether a change is news after the last one."""
    if last is None:
        return True
    names = ("state", "final", "commitment", "slot", "reason", "sending")
    return any(getattr(change, name) != getattr(last, name) for name in names)


def subscription(signature: str) -> str:
    """The message that subscribes to a submission's fates."""
    params = [{"signatures": [signature]}]
    call = {"jsonrpc": "2.0", "id": 1, "method": "fatesSubscribe", "params": params}
    return json.dumps(call)


def change_in(message: str | bytes) -> FateEvent | None:
    """The change that a message of the WebSocket brings; None in others. Raises
    StreamEnded for a refused subscription and for the last message of a connection.
    """
    found: dict[str, Any] = json.loads(message)
    if "error" in found or found.get("method") == "endNotification":
        raise StreamEnded(message if isinstance(message, str) else message.decode())
    if found.get("method") != "fatesNotification":
        return None
    event: FateEvent = read_as(FateEvent, found["params"]["result"])
    return event


class StreamEnded(Exception):
    """The service ended the connection, or refused the subscription."""
