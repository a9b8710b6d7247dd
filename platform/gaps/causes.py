"""Why slots are missing, and what to do about each cause."""

# Of slots whose sealed changes or texts were damaged.
DAMAGED = "damaged"
# Of slots of which the cluster voted for another state.
REFUTED = "refuted"
CAUSES = {
    "stream_lost": "The connection to the stream broke, and messages sent meanwhile are missing."
    " They are fetched automatically, from the stream's replay and from nodes; a longer replay"
    " window on the stream's server helps next time.",
    "follower_down": "The follower was not running for a while. Blocks come from the nodes of"
    " FILL_RPC_URLS; account writes only where the stream's server still replays the slots.",
    "writes_missing": "The block came, and some of its account writes did not. Only the stream's"
    " replay has them, or another stream; if it goes on, the stream's server is overloaded or"
    " filters accounts: name a second one in UPSTREAM_GEYSER_URL.",
    "messages_lost": "The stream left messages of the slot out. Its replay gives them, or another"
    " stream: name a second one in UPSTREAM_GEYSER_URL.",
    "not_yet_known": "A neighbouring block's parent link shows that a slot is missing here; the"
    " cause is not known yet.",
    "source_without_accounts": "The slot came from a source that has blocks and no account"
    " writes, such as a node. Only a stream's replay, or a snapshot of a later slot, helps.",
    "refused": "The slot could not be stored; the ingest worker's log has the reason. It is"
    " requested again.",
    "too_large": "The slot has more account writes than are handed to the worker at once; its"
    " block is here. The stream's replay is tried automatically.",
    DAMAGED: "What was sealed of the slot was damaged, and left. The slot is requested again like"
    " any other; where no source has it any more, restore it from a backup.",
    REFUTED: "The cluster voted for another state of the slot than was archived: wrong writes left."
    " The slot is requested again like any other; another stream may have it right.",
    "verification": "A verification found that the slot is missing.",
}
_OTHERWISE = "Set when the gap was opened; its history has more."


def cause_hint(cause: str) -> str:
    """What a cause means and what helps."""
    return CAUSES.get(cause, _OTHERWISE)
