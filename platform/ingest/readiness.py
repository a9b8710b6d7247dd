"""How far the stored slots are behind the stream, for /readyz."""

from typing import Any

from gateway.health import NotReady
from historical.services.bounds import newest_slot_or_none
from ingest.follower_state import StreamState, published


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
