"""Account balances from a node."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from solders.hash import Hash
from solders.pubkey import Pubkey

from chain.units import U64_MAX, Lamports, Slot
from upstream.head_bound import MOST_SLOT
from upstream.node import Node, NodeUnreachable

_AT_ONCE = 100


class Balances(NamedTuple):
    """At finalized; 0 where there is no account. `slot` is the lowest that a part was read at."""

    slot: Slot
    lamports: dict[Pubkey, Lamports]


def balances(node: Node, pubkeys: Sequence[Pubkey]) -> Balances:
    """In as many calls as it takes. Raises NodeError."""
    found: dict[Pubkey, Lamports] = {}
    slots: list[Slot] = []
    for start in range(0, len(pubkeys), _AT_ONCE):
        asked = pubkeys[start : start + _AT_ONCE]
        slot, accounts = _read(node, asked)
        slots.append(slot)
        found.update(zip(asked, accounts, strict=True))
    return Balances(min(slots, default=Slot(0)), found)


def latest_blockhash(node: Node) -> Hash:
    """The newest confirmed one. Raises NodeError."""
    answer = node.call("getLatestBlockhash", {"commitment": "confirmed"})
    try:
        return Hash.from_string(answer["value"]["blockhash"])
    except (KeyError, TypeError, ValueError):
        raise NodeUnreachable(f"{node.name}: getLatestBlockhash answered no blockhash") from None


def _read(node: Node, pubkeys: Sequence[Pubkey]) -> tuple[Slot, list[Lamports]]:
    config = {
        "commitment": "finalized",
        "encoding": "base64",
        "dataSlice": {"offset": 0, "length": 0},
    }
    answer = node.call("getMultipleAccounts", [str(pubkey) for pubkey in pubkeys], config)
    try:
        slot, accounts = answer["context"]["slot"], answer["value"]
        lamports = [_lamports(account) for account in accounts]
    except (KeyError, TypeError, ValueError):
        lamports = []
    if len(lamports) != len(pubkeys) or type(slot) is not int or not 0 <= slot <= MOST_SLOT:
        raise NodeUnreachable(f"{node.name}: getMultipleAccounts answered no accounts")
    return Slot(slot), lamports


def _lamports(account: Any) -> Lamports:
    if account is None:
        return Lamports(0)
    found = account["lamports"]
    if type(found) is not int or not 0 <= found <= U64_MAX:
        raise ValueError
    return Lamports(found)
