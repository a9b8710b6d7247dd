"""Texts on the outcome of a submission, and what to do about it."""

from priority.fates.reasons import REASONS, Explained, name_of
from priority.submissions import State

_STATE_ADVICE = {
    State.RECEIVED: "Wait: it is sent as soon as an upstream accepts it.",
    State.SENT: "Wait: it is sent again until it lands or its blockhash expires.",
    State.FAILED: "Read below why, replay it with a change to see what would have helped, and send"
    " a new one.",
    State.EXPIRED: "Sign it again with a new blockhash, and send that.",
    State.REFUSED: "Sign it again with a new blockhash, and send that; contact the operator if it"
    " happens again.",
}


def explained(state: str, reason: str | None) -> Explained | None:
    """What the reason means and what to do; without a reason, what the state asks for."""
    name, _, rest = (reason or "").partition(":")
    known = REASONS.get(name_of(reason or ""))
    if known is not None:
        return known
    advice = _STATE_ADVICE.get(State(state))
    if reason:
        return Explained(f"{name.replace('_', ' ')}{':' if rest else ''}{rest}.", advice or "")
    return None if advice is None else Explained("", advice)
