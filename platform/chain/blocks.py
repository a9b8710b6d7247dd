"""SlotRecord: the contents of one slot, from any source."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any

from chain.accounts import AccountWrite
from chain.encodings import b58decode
from chain.transactions import Wire, decode_wire, encode_wire, first_signature
from chain.units import Slot, UnixTimestamp


class Form(IntFlag):
    """The optional fields that the node that wrote a block supported.

    Nodes added fields over the years. A block from an old node's response is served as that node
    wrote it; one from a source without these marks as by a current node.
    """

    LOADED_ADDRESSES = 1  # meta has `loadedAddresses` (since 1.10)
    STACK_HEIGHT = 2  # instructions carry `stackHeight`, parsed account keys `source` (since 1.14)
    TOP_STACK_HEIGHT = 4  # ... and it is 1, not null, on top-level instructions (since 3.1)


CURRENT_FORM = Form.LOADED_ADDRESSES | Form.STACK_HEIGHT | Form.TOP_STACK_HEIGHT


class Granularity(IntEnum):
    """How many of a slot's account writes a source provides."""

    WRITE = 0  # every write of every transaction
    SLOT = 1  # at least the last write of each account; earlier ones of the slot may be missing


@dataclass(frozen=True, slots=True, eq=False)
class TransactionRecord:
    """One transaction of a block, as wire bytes or decoded, whichever its source read, and its
    status meta as the standard node's JSON has it (`err`, `fee`, `preBalances`, `logMessages`, …),
    or None where the source had none. `loaded_keys` are the meta's loaded addresses, writable ones
    first, where the source had them as bytes.
    """

    content: bytes | Wire
    meta: dict[str, Any] | None
    loaded_keys: Sequence[bytes] | None = None

    def __eq__(self, other: object) -> bool:
        """True for the same transaction and meta, in whichever form."""
        if not isinstance(other, TransactionRecord):
            return NotImplemented
        return self.wire == other.wire and self.meta == other.meta

    @property
    def wire(self) -> bytes:
        """The wire bytes; encoded by each access where the source decoded them."""
        return encode_wire(self.content) if isinstance(self.content, Wire) else self.content

    @property
    def decoded(self) -> Wire:
        """The parts; decoded by each access where the source had bytes. Raises BadTransaction."""
        return self.content if isinstance(self.content, Wire) else decode_wire(self.content)

    @property
    def signature(self) -> bytes:
        """The first signature. Raises BadTransaction."""
        if isinstance(self.content, Wire):
            return self.content.signatures[0]
        return first_signature(self.content)

    @property
    def account_keys(self) -> list[bytes]:
        """The static keys, then the loaded ones; nodes older than 1.10 leave those out of the meta.
        Raises BadTransaction.
        """
        loaded = self.loaded_keys
        if loaded is None:
            named = (self.meta or {}).get("loadedAddresses") or {}
            texts = (*(named.get("writable") or ()), *(named.get("readonly") or ()))
            loaded = [b58decode(text) for text in texts]
        return [*self.decoded.account_keys, *loaded]


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """A produced slot: block_time in Unix seconds, blockhashes as base58, rewards in the standard
    node's JSON form; None if the source does not have them. `account_writes` are in no defined
    order and may repeat; None if the source has none (all but the stream).
    """

    slot: Slot
    parent_slot: Slot
    blockhash: str
    previous_blockhash: str
    block_time: UnixTimestamp | None
    block_height: int | None
    transactions: list[TransactionRecord]
    rewards: list[dict[str, Any]] | None = None
    reward_partitions: int | None = None
    form: Form = field(default=CURRENT_FORM)
    account_writes: list[AccountWrite] | None = None
    granularity: Granularity = Granularity.WRITE
