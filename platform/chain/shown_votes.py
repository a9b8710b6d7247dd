"""Votes in transactions, as voteSubscribe shows them."""

from typing import Any

from solders.signature import Signature

from chain.encodings import b58encode
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.vote import parse_vote
from chain.transactions import Wire

_VOTES = frozenset(
    (
        "vote",
        "voteswitch",
        "updatevotestate",
        "updatevotestateswitch",
        "compactupdatevotestate",
        "compactupdatevotestateswitch",
        "towersync",
        "towersyncswitch",
    )
)


def vote_of(wire: Wire) -> dict[str, Any] | None:
    """`{votePubkey, slots, hash, timestamp, signature}`; None if it is no vote."""
    if not wire.instructions:
        return None
    instruction = wire.instructions[0]
    accounts = [b58encode(wire.account_keys[index]) for index in instruction.accounts]
    try:
        kind, info = _typed(parse_vote(accounts, Cursor(instruction.data)))
    except (UnreadableError, IndexError, KeyError, ValueError):
        return None
    if kind.lower() not in _VOTES:
        return None
    found = next((each for each in info.values() if isinstance(each, dict)), {})
    slots = found.get("slots") or [each["slot"] for each in found.get("lockouts", ())]
    return {
        "votePubkey": info.get("voteAccount"),
        "slots": slots,
        "hash": found.get("hash"),
        "timestamp": found.get("timestamp"),
        "signature": str(Signature(wire.signatures[0])),
    }


def _typed(parsed: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(parsed, dict):
        return parsed["type"], parsed["info"]
    kind, info = parsed
    return kind, info
