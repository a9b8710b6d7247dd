"""What the follower is doing, for whoever asks: a hash in Redis that fades when it stops."""

import enum
from dataclasses import asdict, dataclass
from typing import Any

from shared_state.redis_client import NAMESPACE, client

_KEY = f"{NAMESPACE}follower"
_SECONDS = 30
# The supervisor starts an ended follower again after a minute at most: until the next one speaks,
# the last word of this one stands.
_LAST_WORD_SECONDS = 150
# A chain makes two slots a second and more: a stream that says nothing for so long is silent,
# whatever its connection looks like.
SILENT_SECONDS = 10.0


class StreamState(enum.StrEnum):
    """How the stream is, in a word."""

    FOLLOWING = "following"
    SILENT = "silent"
    NOT_CONNECTED = "not connected"


@dataclass(slots=True)
class FollowerState:
    """Times are Unix seconds, 0 for never. `source` is the stream's or the node's name."""

    source: str = ""
    connected_since: float = 0.0
    heard_at: float = 0.0
    head_slot: int = 0
    finalized_slot: int = 0
    closed_slot: int = 0
    waiting_bytes: int = 0
    waiting_slots: int = 0
    # Of several: how many there are, and how many are connected.
    streams: int = 1
    streams_connected: int = 0
    problem: str = ""
    ended_at: float = 0.0

    def silent_seconds(self, now: float) -> int | None:
        """How long ago the stream said something last; None when it has not yet."""
        return max(0, int(now - self.heard_at)) if self.heard_at else None

    def stream(self, now: float) -> StreamState:
        if self.ended_at or not self.connected_since:
            return StreamState.NOT_CONNECTED
        silent = now - max(self.heard_at, self.connected_since) > SILENT_SECONDS
        return StreamState.SILENT if silent else StreamState.FOLLOWING


def publish(state: FollowerState) -> None:
    """Everybody may see it, for half a minute, and longer when it ended by its problem."""
    fields: dict[Any, Any] = asdict(state)
    with client().pipeline(transaction=True) as pipe:
        pipe.hset(_KEY, mapping=fields)
        pipe.expire(_KEY, _LAST_WORD_SECONDS if state.ended_at else _SECONDS)
        pipe.execute()


def published() -> FollowerState | None:
    """What the follower said last; None when no one follows."""
    found: Any = client().hgetall(_KEY)
    if not found:
        return None
    state = FollowerState()
    for name, value in found.items():
        field = name.decode()
        kind = type(getattr(state, field, None))
        if kind in (str, float, int):
            setattr(state, field, kind(value.decode()))
    return state
