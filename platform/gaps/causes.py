"""Why slots are missing, and what prevents the next such gap."""

from typing import NamedTuple

# Of slots whose sealed changes or texts were damaged.
DAMAGED = "damaged"
# Of slots for which the cluster voted for another state.
REFUTED = "refuted"


class Cause(NamedTuple):
    """What happened, and what prevents it; empty where nothing does."""

    meaning: str
    prevention: str = ""


_SECOND_STREAM = "Name a second stream in UPSTREAM_GEYSER_URL: what one omits another has."
CAUSES = {
    "stream_lost": Cause(
        "The connection to the stream broke, and messages sent meanwhile are missing.",
        f"{_SECOND_STREAM} A longer replay window on the stream's server helps too.",
    ),
    "follower_down": Cause(
        "The follower was not running for a while.",
        "Restart within the replay window of the stream's server: 150 slots on most.",
    ),
    "writes_missing": Cause(
        "The block came, and some of its account writes did not.",
        f"If it goes on, the stream's server is overloaded or filters accounts. {_SECOND_STREAM}",
    ),
    "messages_lost": Cause("The stream left messages of the slot out.", _SECOND_STREAM),
    "two_banks": Cause(
        "The validator executed the slot twice, and its messages do not say which of the two banks"
        " they are of.",
        f"Servers that send bank_id with every message. {_SECOND_STREAM}",
    ),
    "not_yet_known": Cause(
        "A neighbouring block's parent link shows that a slot is missing here; the cause is not"
        " known yet."
    ),
    "source_without_accounts": Cause(
        "The slot came from a source that has blocks and no account writes, such as a node."
    ),
    "refused": Cause("The slot could not be stored; the ingest worker's log has the reason."),
    "too_large": Cause(
        "The slot has more account writes than are handed to the worker at once; its block is here."
    ),
    DAMAGED: Cause(
        "Sealed data of the slot was damaged, and was removed.", "Check the machine's disk."
    ),
    REFUTED: Cause(
        "The cluster voted for another state of the slot than was archived, and the wrong writes"
        " were removed.",
        _SECOND_STREAM,
    ),
    "verification": Cause("A verification found that the slot is missing."),
}
_OTHER = Cause("Set when the gap was opened; its history has more.")


def cause_of(name: str) -> Cause:
    """A cause by its name; an unknown one has a general meaning."""
    return CAUSES.get(name, _OTHER)


def cause_hint(name: str) -> str:
    """What a cause means."""
    return cause_of(name).meaning
