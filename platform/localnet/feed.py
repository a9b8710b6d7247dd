"""The feed: everything that happens on localnet's chain, in order, for its streaming servers."""

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.units import Slot


class SlotStatus(IntEnum):
    """A slot's life, numbered as the stream numbers it."""

    PROCESSED = 0
    CONFIRMED = 1
    FINALIZED = 2
    FIRST_SHRED_RECEIVED = 3
    COMPLETED = 4
    CREATED_BANK = 5
    DEAD = 6


@dataclass(frozen=True, slots=True)
class SlotChanged:
    """A slot reached a status; `dead_error` says why it died."""

    slot: Slot
    parent: Slot | None
    status: SlotStatus
    dead_error: str | None = None


@dataclass(frozen=True, slots=True)
class AccountWritten:
    """One account write, as it happened."""

    slot: Slot
    write: AccountWrite


@dataclass(frozen=True, slots=True)
class TransactionRan:
    """One transaction at its index in the block; `signature` is its first, 64 bytes."""

    slot: Slot
    index: int
    signature: bytes
    record: TransactionRecord


@dataclass(frozen=True, slots=True)
class EntryMade:
    """One entry of a block; the hash of the last one is the blockhash."""

    slot: Slot
    index: int
    num_hashes: int
    hash: bytes
    transaction_count: int
    starting_transaction_index: int


@dataclass(frozen=True, slots=True)
class BlockMade:
    """A block is whole: its record, account writes included."""

    record: SlotRecord
    entry_count: int


Happening: TypeAlias = SlotChanged | AccountWritten | TransactionRan | EntryMade | BlockMade
