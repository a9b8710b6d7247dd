"""What became of a submission, in words, and what to do about it."""

from typing import NamedTuple

from priority.submissions import State

_STATES = {
    State.RECEIVED: "Accepted, and no upstream has it yet.",
    State.SENT: "At least one upstream has it; no block does yet.",
    State.LANDED: "It is in a block.",
    State.FAILED: "It is in a block, with an error: its fee was charged. What its instructions did"
    " was rolled back, and its tip with it: it tipped nobody.",
    State.EXPIRED: "It is in no block, and no block can take it any more.",
    State.REFUSED: "It is in no block, and no upstream ever took it.",
}
_STATE_ADVICE = {
    State.RECEIVED: "Wait: it is sent as soon as an upstream takes it.",
    State.SENT: "Wait: it is sent again until it lands or its blockhash is too old.",
    State.FAILED: "Read the error, simulate the transaction, mend it and send a new one.",
    State.EXPIRED: "Sign it again with a new blockhash, and send that.",
    State.REFUSED: "Sign it again with a new blockhash, and send that; tell the operator if it"
    " happens again.",
}


class Explained(NamedTuple):
    """A reason's meaning, and what to do."""

    meaning: str
    advice: str


_OURS = "Nothing is wrong with the transaction: send it again, and tell the operator."
REASONS = {
    "blockhash_expired": Explained(
        "Its blockhash became too old before a leader took it.",
        "Sign with a newer blockhash, right before you send; a larger tip or priority fee lands"
        " sooner when the chain is busy.",
    ),
    "nonce_unused": Explained(
        "Its durable nonce was not used for as long as it is tried.",
        "Look whether the nonce was advanced by another transaction; send it again if it was not.",
    ),
    "upstream_refused": Explained(
        "An upstream answered that it does not take it.",
        "The answer stands beside the try, below: mostly a fee payer without lamports, or an"
        " account that is missing.",
    ),
    "engine_refused": Explained(
        "The block engine answered that it does not take the bundle.",
        "The reason says what it answered: mostly the tip is too low, or a transaction fails.",
    ),
    "engine_dropped": Explained(
        "The block engine took the bundle and let it go: mostly it lost the auction, or failed on"
        " the newest state.",
        "Tip more, or simulate the bundle and mend it.",
    ),
    "engine_untipped": Explained(
        "The block engine asks for a tip to one of its own addresses, which the bundle does not"
        " pay.",
        "Add a transfer to an address of the engine, or ask the operator whether the service"
        " tips for you.",
    ),
    "landed_in_part": Explained(
        "Some of the bundle's transactions are in blocks without the others: somebody sent them"
        " alone.",
        "Do not send a bundle's transactions by other ways as well.",
    ),
    "submitted_before": Explained(
        "All of its transactions had been submitted before.",
        "Look for the earlier submission by one of its signatures.",
    ),
    "no_upstream": Explained("No upstream was there to send it by.", _OURS),
    "upstream_rests": Explained("The upstreams were resting after failures.", _OURS),
    "upstream_busy": Explained("The upstreams had more to do than they may have.", _OURS),
    "engine_unknown": Explained("The block engine does not know the bundle any more.", _OURS),
    "own_tip_unfunded": Explained(
        "The operator's tip to the block engine could not be paid.", _OURS
    ),
    "no_slot": Explained("The chain's newest slot was not known.", _OURS),
    "no_schedule": Explained("The chain's leaders were not known.", _OURS),
    "no_blockhash": Explained("The chain's newest blockhash was not known.", _OURS),
    "no_address": Explained("The leaders' addresses were not known.", _OURS),
}


def state_words(state: str) -> str:
    return _STATES[State(state)]


def explained(state: str, reason: str | None) -> Explained | None:
    """What the reason means and what to do; without a reason, what the state asks for."""
    name, _, rest = (reason or "").partition(":")
    known = REASONS.get(name.strip())
    if known is not None:
        return known
    advice = _STATE_ADVICE.get(State(state))
    if reason:
        return Explained(f"{name.replace('_', ' ')}{':' if rest else ''}{rest}.", advice or "")
    return None if advice is None else Explained("", advice)
