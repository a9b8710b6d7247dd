"""SlotRecord: what one slot is, whatever source it came from."""

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any

from chain.accounts import AccountWrite
from chain.units import Slot, UnixTimestamp


class Form(IntFlag):
    """Which optional fields the node that wrote a block was young enough to write.

    Nodes added fields over the years. A block that was read from an old node's answer is
    served as that node wrote it; one from a source without such marks as today's node would.
    """

    LOADED_ADDRESSES = 1  # `loadedAddresses` stands in meta (since 1.10)
    STACK_HEIGHT = 2  # instructions carry `stackHeight`, parsed account keys `source` (since 1.14)
    TOP_STACK_HEIGHT = 4  # ... and it is 1, not null, on top-level instructions (since 3.1)


CURRENT_FORM = Form.LOADED_ADDRESSES | Form.STACK_HEIGHT | Form.TOP_STACK_HEIGHT


class Granularity(IntEnum):
    """How much of a slot's account writes a source gave."""

    WRITE = 0  # every write of every transaction
    SLOT = 1  # at least the last write of each account; earlier ones of the slot may be missing


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """One transaction of a block: its wire bytes, and its status meta as the standard node's
    JSON has it (`err`, `fee`, `preBalances`, `logMessages`, …), or None where the source had none.
    """

    wire: bytes
    meta: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """A produced slot: block_time in Unix seconds, blockhashes as base58, rewards as the standard
    node's JSON has them; None where the source does not tell. `account_writes` stand in no
    promised order and may repeat; None where the source has none (all but the stream).
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
