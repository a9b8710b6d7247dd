"""The position of a write in its slot: the same on every validator, in any order of arrival."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from solders.signature import Signature

from chain.accounts import AccountWrite
from chain.blocks import TransactionRecord
from chain.units import U64_MAX

# A state carried over from slots that are no longer kept: before all that happened in the slot.
CARRIED = -2
# Writes outside transactions: sysvars before the first one, fees and rewards after the last.
START_OF_SLOT = -1
END_OF_SLOT = 2**31 - 1


class UnknownSignature(ValueError):
    """A write names a transaction that its block does not have."""


class Position(NamedTuple):
    """A moment between two writes: all that stands at or before it has happened. `order` is a
    transaction's place in the block, or one of the three above.
    """

    slot: int
    order: int

    @classmethod
    def end_of(cls, slot: int) -> "Position":
        return cls(slot, END_OF_SLOT)

    @classmethod
    def start_of(cls, slot: int) -> "Position":
        """When the slot's sysvars are written and no transaction has run."""
        return cls(slot, START_OF_SLOT)

    @classmethod
    def before(cls, slot: int, index: int) -> "Position":
        """What the transaction itself read."""
        return cls(slot, index - 1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A position as a caller names it: the end of a slot (slot alone), or before or after a
    transaction, which is named by its signature, or by its slot and its index in the block.
    """

    slot: int | None = None
    index: int | None = None
    signature: Signature | None = None
    after: bool = True


# A pubkey, and a position in the slot.
Place: TypeAlias = tuple[bytes, int]


def first_signatures(transactions: Iterable[TransactionRecord]) -> dict[bytes, int]:
    """Each transaction's first signature → its index in the block; raises BadTransaction."""
    return {each.signature: index for index, each in enumerate(transactions)}


def placed(writes: Iterable[AccountWrite], indexes: dict[bytes, int]) -> dict[Place, AccountWrite]:
    """One write for each account and place, the last of several: what a block's writes come down
    to, in any order and any number of times; raises UnknownSignature.
    """
    unsigned: list[AccountWrite] = []
    newest: dict[Place, AccountWrite] = {}
    first_version: int | None = None
    for write in writes:
        signature, version = write.signature, write.write_version
        if signature is None:
            unsigned.append(write)
            continue
        index = indexes.get(signature)
        if index is None:
            raise UnknownSignature(signature.hex())
        if first_version is None or version < first_version:
            first_version = version
        key = (write.pubkey, index)
        known = newest.get(key)
        if known is None or known.write_version < version:
            newest[key] = write
    if first_version is None:
        # Without a transaction's write, before and after cannot be distinguished: at the end none
        # shows what is yet to happen. In a block without transactions all stand at the start.
        first_version = 0 if indexes else U64_MAX + 1
    for write in unsigned:
        before = write.write_version < first_version
        key = (write.pubkey, START_OF_SLOT if before else END_OF_SLOT)
        known = newest.get(key)
        if known is None or known.write_version < write.write_version:
            newest[key] = write
    return newest
