"""The follower's state: a hash in Redis that expires when the follower stops."""

import enum
from dataclasses import asdict, dataclass
from typing import Any

from shared_state import clock
from shared_state.pace import silence_seconds
from shared_state.redis_client import NAMESPACE, client

_KEY = f"{NAMESPACE}follower"
_SECONDS = 30
# The supervisor restarts a follower after a minute at most: the state of an ended one is kept until
# the next one publishes.
_ENDED_SECONDS = 150


class StreamState(enum.StrEnum):
    """The state of the stream."""

    FOLLOWING = "following"
    SILENT = "silent"
    NOT_CONNECTED = "not connected"


@dataclass(slots=True)
class FollowerState:
    """Times are Unix seconds, 0 for never. `source` is the stream's or the node's name. While slots
    wait to be stored, `unstored_since` is when one was stored last, or the first of them came.
    """

    source: str = ""
    connected_since: float = 0.0
    heard_at: float = 0.0
    head_slot: int = 0
    finalized_slot: int = 0
    closed_slot: int = 0
    waiting_bytes: int = 0
    waiting_slots: int = 0
    unstored_since: float = 0.0
    # How many streams are configured, and how many are connected.
    streams: int = 1
    streams_connected: int = 0
    problem: str = ""
    ended_at: float = 0.0

    def silent_seconds(self, now: float) -> int | None:
        """Seconds since the last message; None if there was none yet."""
        return max(0, int(now - self.heard_at)) if self.heard_at else None

    def unstored_seconds(self, now: float) -> int:
        """Seconds for which slots wait while none is stored; 0 while none waits."""
        return max(0, int(now - self.unstored_since)) if self.unstored_since else 0

    def stream(self, now: float) -> StreamState:
        if self.ended_at or not self.connected_since:
            return StreamState.NOT_CONNECTED
        silent = now - max(self.heard_at, self.connected_since) > silence_seconds()
        return StreamState.SILENT if silent else StreamState.FOLLOWING


_TIMES = ("connected_since", "heard_at", "unstored_since", "ended_at")


def publish(state: FollowerState) -> None:
    """Publishes the state for half a minute, or longer if the follower ended, with its times by the
    clock that all processes share.
    """
    fields: dict[Any, Any] = asdict(state)
    behind = clock.offset()
    for name in _TIMES:
        if behind and fields[name]:
            fields[name] += behind
    with client().pipeline(transaction=True) as pipe:
        pipe.hset(_KEY, mapping=fields)
        pipe.expire(_KEY, _ENDED_SECONDS if state.ended_at else _SECONDS)
        pipe.execute()


def published() -> FollowerState | None:
    """The last published state; None if no follower runs."""
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
