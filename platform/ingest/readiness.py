"""How far the stored slots are behind the stream, for /readyz."""

from typing import Any

from gateway.health import NotReady
from historical.blocks.services.bounds import newest_slot_or_none
from ingest.follower_state import StreamState, published

# Why a chain is not followed at the moment: the name, and what an operator can do.
_REMEDIES = {
    "follower_ended": "Read the follower's last lines in the log: no new connection repairs this.",
    "stream_not_connected": "Check the source of the chain: the follower connects again by itself.",
    "stream_silent": "Check the source of the chain, and whether this machine has CPU left.",
}


class FollowerEnded(NotReady):
    """The follower ended by a problem that no new connection can repair; the text is its own."""


class StreamSilent(NotReady):
    """The stream has been silent for longer than READY_MAX_LAG_SECONDS."""

    def __init__(self, seconds: int | None, longest: int, *, followed: bool) -> None:
        found = "nothing was heard yet" if followed else "nothing follows the chain"
        if seconds is not None:
            found = f"silent for {seconds} s"
        super().__init__(f"{found}; READY_MAX_LAG_SECONDS is {longest}")


def stream_state(*, now_seconds: float, longest_lag_seconds: int) -> dict[str, Any]:
    """`{following, stream, newestSlot, finalizedSlot, slotsBehind, silentSeconds, waitingSlots}`,
    with nulls if no follower runs or nothing was received: the lag of a silent stream is unknown.
    Raises FollowerEnded, and StreamSilent if a longest lag is set (0: none) and exceeded.
    """
    newest = newest_slot_or_none()
    state = published()
    if state is not None and state.ended_at:
        raise FollowerEnded(state.problem)
    silent = None if state is None else state.silent_seconds(now_seconds)
    if longest_lag_seconds and (silent is None or silent > longest_lag_seconds):
        raise StreamSilent(silent, longest_lag_seconds, followed=state is not None)
    if state is None:
        return {"following": None, "newestSlot": newest}
    finalized = state.finalized_slot or None
    stream = state.stream(now_seconds)
    is_following = stream is StreamState.FOLLOWING
    behind = max(0, finalized - (newest or 0)) if finalized is not None and is_following else None
    return {
        "following": state.source if is_following else None,
        "stream": str(stream),
        "newestSlot": newest,
        "finalizedSlot": finalized,
        "slotsBehind": behind,
        "silentSeconds": silent,
        "waitingSlots": state.waiting_slots,
    }


def following_state(*, now_seconds: float, is_followed: bool) -> dict[str, Any]:
    """`{ok}`; where a chain `is_followed` and nothing of it comes, also `why`, `cause` and
    `remedy`.
    """
    state = published() if is_followed else None
    if state is None:
        return {}  # a follower that does not run is missing among the processes
    if state.ended_at:
        return _not_following("follower_ended", state.problem)
    match state.stream(now_seconds):
        case StreamState.NOT_CONNECTED:
            problem = f": {state.problem}" if state.problem else ""
            return _not_following("stream_not_connected", f"no stream is connected{problem}")
        case StreamState.SILENT:
            seconds = int(now_seconds - max(state.heard_at, state.connected_since))
            return _not_following("stream_silent", f"no slot has come for {seconds} s")
    return {}


def is_following(*, now_seconds: float) -> bool:
    """Whether a follower runs and hears of the chain."""
    state = published()
    return state is not None and state.stream(now_seconds) is StreamState.FOLLOWING


def _not_following(cause: str, why: str) -> dict[str, Any]:
    return {"ok": False, "why": why, "cause": cause, "remedy": _REMEDIES[cause]}
