"""What states mean, and the reasons of fates without a block: what each means, and what its sender
can do.
"""

from typing import NamedTuple

from priority.submissions import State

STATE_TEXTS = {
    State.RECEIVED: "Accepted; no upstream has it yet.",
    State.SENT: "Sent to at least one upstream; not in a block yet.",
    State.LANDED: "In a block, without an error.",
    State.FAILED: "Failed on chain: it is in a block with an error, and its fee was charged. Its"
    " instructions were rolled back, including the tip.",
    State.EXPIRED: "Not in a block, and it can no longer land.",
    State.REFUSED: "Not in a block; no upstream accepted it.",
}


class Explained(NamedTuple):
    """The meaning of a reason, and what to do."""

    meaning: str
    advice: str


# To a customer: the fault is the service's.
OURS = "The transaction is fine: send it again, and contact the operator."
REASONS = {
    "blockhash_expired": Explained(
        "Its blockhash expired before a leader included it.",
        "Sign with a newer blockhash, right before you send; a larger tip or priority fee lands"
        " sooner when the chain is busy.",
    ),
    "nonce_unused": Explained(
        "Its durable nonce was not used within the time for attempts.",
        "Check whether another transaction advanced the nonce; if not, send it again.",
    ),
    "nonce_moved": Explained(
        "Its durable nonce moved on to another hash: the reason names the slot and the transaction"
        " that moved it, where they are known.",
        "Read the nonce account again, sign with its new hash, and send that.",
    ),
    "nonce_closed": Explained(
        "Its durable nonce account does not exist any more.",
        "Sign with another nonce or a recent blockhash, and send that.",
    ),
    "nonce_invalid": Explained(
        "The account that it uses as a durable nonce is not one.",
        "Sign with another nonce or a recent blockhash, and send that.",
    ),
    "nonce_authority": Explained(
        "Its durable nonce has another authority, which did not sign.",
        "Sign with the nonce's authority, and send that.",
    ),
    "watch_ended": Explained(
        "Its durable nonce could still take it after as long as submissions are kept. What became"
        " of it since is unknown.",
        "Look its signature up on the chain, and advance the nonce if it must never land.",
    ),
    "upstream_refused": Explained(
        "An upstream refused it.",
        "See the response to the attempt below: usually the fee payer has no lamports, or an"
        " account is missing.",
    ),
    "engine_refused": Explained(
        "The block engine refused the bundle.",
        "The reason has its response: usually the tip is too low, or a transaction fails.",
    ),
    "engine_dropped": Explained(
        "The block engine accepted the bundle and dropped it: usually it lost the auction, or"
        " failed on the newest state.",
        "Tip more, or simulate the bundle and fix it.",
    ),
    "engine_untipped": Explained(
        "The block engine asks for a tip to one of its own addresses, which the bundle does not"
        " pay.",
        "Add a transfer to an address of the engine, or ask the operator whether the service"
        " tips for you.",
    ),
    "landed_in_part": Explained(
        "Some of the bundle's transactions are in blocks without the others: they were sent"
        " individually.",
        "Do not send the transactions of a bundle individually as well.",
    ),
    "submitted_before": Explained(
        "All of its transactions are in another bundle, too: an older version of the service"
        " did not follow it any further.",
        "Look up its transactions by their signatures.",
    ),
    "never_sent": Explained("No upstream had it before it could no longer land.", OURS),
    "not_accepted": Explained(
        "No upstream accepted it before it could no longer land.",
        "Simulate it: usually the fee payer has no lamports, or an account is missing.",
    ),
    "no_upstream": Explained("No upstream was available.", OURS),
    "upstream_rests": Explained("The upstreams were in cooldown after failures.", OURS),
    "upstream_busy": Explained("The upstreams were at capacity.", OURS),
    "engine_unknown": Explained("The block engine no longer knows the bundle.", OURS),
    "own_tip_unfunded": Explained(
        "The operator's tip to the block engine could not be paid.", OURS
    ),
    "no_slot": Explained("The newest slot was unknown.", OURS),
    "no_schedule": Explained("The leader schedule was unknown.", OURS),
    "no_blockhash": Explained("The newest blockhash was unknown.", OURS),
    "no_address": Explained("The addresses of the leaders were unknown.", OURS),
}

LOST_BY_US = tuple(name for name, each in REASONS.items() if each.advice == OURS)


# These are about the transaction; all others are about one submission of it.
OF_ALL_SUBMITTERS = (
    "blockhash_expired",
    "landed_in_part",
    "never_sent",
    "nonce_",
    "patience_over",
    "watch_ended",
)


def for_others(reason: str, *, refused: bool) -> str:
    """The reason as another customer sees it that submitted the same: not how the first one's
    submission was sent, nor what an upstream said to that.
    """
    if reason.startswith(OF_ALL_SUBMITTERS):
        return reason
    return "not_accepted" if refused else ""


def name_of(reason: str) -> str:
    """The reason's own word: `not_landed: no block` is “not_landed”."""
    return reason.partition(":")[0].strip()
