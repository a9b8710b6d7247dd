"""Why slots are lacking, and what helps, in a sentence each."""

CAUSES = {
    "stream_lost": "The connection to the stream broke and what was sent meanwhile is not all"
    " here. It is fetched by itself, from the stream's replay and from nodes; a longer replay"
    " of the stream's server helps next time.",
    "follower_down": "Nobody followed the chain for a while. Blocks come from the nodes of"
    " FILL_RPC_URLS; account writes only where the stream's server still replays the slots.",
    "writes_missing": "The block came, and some of its account writes did not. Only the stream's"
    " replay has them, or another stream; if it goes on, the stream's server is overloaded or"
    " filters accounts: name a second one in UPSTREAM_GEYSER_URL.",
    "messages_lost": "The stream left messages of the slot out. Its replay gives them, or another"
    " stream: name a second one in UPSTREAM_GEYSER_URL.",
    "not_yet_known": "A neighbouring block's link shows that something is lacking here; nothing"
    " has told yet why.",
    "source_without_accounts": "The slot came from a source that has blocks and no account"
    " writes, such as a node. Only a stream's replay, or a snapshot of a later slot, helps.",
    "refused": "What came could not be stored; the log of the ingest worker says why. It is asked"
    " for again.",
    "too_large": "The slot has more account writes than are handed to the worker at once; its"
    " block is here. The stream's replay is tried by itself.",
    "verification": "A verification found that the slot is lacking.",
}
_OTHERWISE = "Told by whoever opened the gap; its history says more."


def cause_hint(cause: str) -> str:
    """What a cause means and what helps."""
    return CAUSES.get(cause, _OTHERWISE)
