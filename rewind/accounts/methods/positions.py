"""The config members that name a position, and how they are resolved."""

from typing import Literal

from solders.signature import Signature

from chain.commitment import Commitment
from jsonrpc.params import U64, Config
from rewind.errors import BadPosition
from rewind.positions import Asked


# A misspelled `position` would be the other state: unknown members are refused.
class Anchor(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transaction, by its signature, or by its slot and index; the state before or after it.

    signature: the transaction's signature
    slot: its slot, with `transactionIndex` in place of a signature
    transaction_index: its place in the block, from 0
    position: `before` (the default) or `after` it
    """

    signature: Signature | None = None
    slot: U64 | None = None
    transaction_index: U64 | None = None
    position: Literal["before", "after"] | None = None


class PositionConfig(Config, frozen=True, kw_only=True):
    """A position in the past: `slot`, or `anchor`, and not both.

    slot: the end of this slot
    transaction_index: not the end of the slot, but right after its transaction of this index
    anchor: right before or after a transaction
    commitment: taken and without effect: all that is archived is finalized
    tolerate_gaps: answer with what is known, even if slots in between are missing
    """

    slot: U64 | None = None
    transaction_index: U64 | None = None
    anchor: Anchor | None = None
    commitment: Commitment | None = None
    tolerate_gaps: bool | None = None


def asked(
    slot: int | None, transaction_index: int | None, anchor: Anchor | None, *, suffix: str = ""
) -> Asked:
    """The end of a slot, right after its transaction of that index, or an anchor; raises
    BadPosition unless it is exactly one of them. `suffix` ends the members' names: "A", "B".
    """
    names = [f"{name}{suffix}" for name in ("slot", "transactionIndex", "anchor")]
    given = [
        name
        for name, value in zip(names, (slot, transaction_index, anchor), strict=True)
        if value is not None
    ]
    if anchor is not None and len(given) == 1:
        return anchored(anchor, name=names[2])
    if anchor is not None or slot is None:
        ways = f"`{names[0]}` (with `{names[1]}` or without it) or `{names[2]}`"
        raise BadPosition(f"expected {ways}, {_found(given)}", found=given)
    return Asked(slot=slot, index=transaction_index)


def anchored(anchor: Anchor, *, name: str = "anchor") -> Asked:
    """Before the transaction unless `position` is "after"; raises BadPosition."""
    after = anchor.position == "after"
    members = {
        "signature": anchor.signature,
        "slot": anchor.slot,
        "transactionIndex": anchor.transaction_index,
    }
    given = [member for member, value in members.items() if value is not None]
    if given == ["signature"]:
        return Asked(signature=anchor.signature, after=after)
    if given == ["slot", "transactionIndex"]:
        return Asked(slot=anchor.slot, index=anchor.transaction_index, after=after)
    raise BadPosition(
        f"expected `signature`, or `slot` and `transactionIndex`, in `{name}`, {_found(given)}",
        found=given,
    )


def _found(given: list[str]) -> str:
    return f"found {' and '.join(f'`{name}`' for name in given) or 'none of them'}"
