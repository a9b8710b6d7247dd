"""The feed: everything that happens on localnet's chain, in order, for its streaming servers."""

import asyncio
import pickle
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self, TypeAlias

import zstandard

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.units import U64_MAX, Slot
from localnet.faults import Faults

# Slots behind the newest one that are kept as they are; older ones are packed: with the sysvars it
# writes, the history of slots above all, an empty slot takes 130 kB, and 2 kB packed.
_OPEN_SLOTS = 8


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
    """A slot reached a status; `dead_error` says why it died. `bank` is the bank's number, here and
    in the other events; 0 for blocks of before a restart.
    """

    slot: Slot
    parent: Slot | None
    status: SlotStatus
    dead_error: str | None = None
    bank: int = 0


@dataclass(frozen=True, slots=True)
class AccountWritten:
    """One account write, as it happened."""

    slot: Slot
    write: AccountWrite
    bank: int = 0


@dataclass(frozen=True, slots=True)
class TransactionRan:
    """One transaction at its index in the block; `signature` is its first, 64 bytes."""

    slot: Slot
    index: int
    signature: bytes
    record: TransactionRecord
    bank: int = 0


@dataclass(frozen=True, slots=True)
class EntryMade:
    """One entry of a block; the hash of the last one is the blockhash."""

    slot: Slot
    index: int
    num_hashes: int
    hash: bytes
    transaction_count: int
    starting_transaction_index: int
    bank: int = 0


@dataclass(frozen=True, slots=True)
class BlockMade:
    """A block is whole: its record, account writes included."""

    record: SlotRecord
    entry_count: int
    bank: int = 0


ChainEvent: TypeAlias = SlotChanged | AccountWritten | TransactionRan | EntryMade | BlockMade


class Lagged(Exception):
    """A subscription was not read fast enough; what it did not read is lost to it."""


class Feed:
    """Publishes every event to every subscription and keeps the newest slots. One event loop."""

    def __init__(self, faults: Faults) -> None:
        # Called by `deliver`.
        self.readers: list[Callable[[], None]] = []
        self._faults = faults
        self._subscriptions: set[Subscription] = set()
        self._slots: dict[Slot, list[ChainEvent]] = {}
        # The beginning of older slots; what happened to them since stands in `_slots`.
        self._packed: dict[Slot, bytes] = {}
        self._forgotten_below = Slot(0)
        # By slot and write version: what a fault made of a write, None for a lost one.
        self._altered: dict[Slot, dict[int, AccountWrite | None]] = {}

    def publish(self, event: ChainEvent) -> None:
        """Passes it to every subscription; a slow reader never delays the chain. What a fault makes
        of a write is in these alone: replays are true.
        """
        slot = slot_of(event)
        if slot >= self._forgotten_below:
            kept = self._slots.get(slot)
            if kept is None:
                kept = self._slots[slot] = []
                self._forget()
                self._pack_older()
            kept.append(event)
        streamed: ChainEvent | None = event
        if isinstance(event, AccountWritten):
            streamed = self._streamed(event)
        elif isinstance(event, BlockMade):
            streamed = self._as_streamed(event)
        if streamed is None:
            return
        for subscription in tuple(self._subscriptions):
            subscription.put(streamed)

    def deliver(self) -> None:
        """The chain pauses: its readers hand on what was published before anything else runs. A
        loop that is full of requests would come to them late.
        """
        for read in self.readers:
            read()

    def subscribe(self, limit: int = 250_000) -> "Subscription":
        """Everything from now on, up to `limit` events ahead of the reader."""
        subscription = Subscription(limit, self._subscriptions)
        self._subscriptions.add(subscription)
        return subscription

    @property
    def first_available(self) -> Slot | None:
        """The oldest slot that `replay` can start from; None before anything happened."""
        self._forget()
        return min(self._slots, default=None)

    def replay(self, from_slot: Slot) -> list[ChainEvent]:
        """What is remembered of this slot and all later ones, slot by slot."""
        self._forget()
        return [
            event
            for slot in sorted(self._slots)
            if slot >= from_slot
            for event in self._all_of(slot)
        ]

    def _streamed(self, event: AccountWritten) -> AccountWritten | None:
        """The write as a fault leaves it; None where it is lost."""
        write, faults = event.write, self._faults
        if write.signature is None or not (faults.corrupt_write or faults.lose_write):
            return event
        if faults.lose_write:
            faults.lose_write -= 1
            self._altered.setdefault(event.slot, {})[write.write_version] = None
            return None
        faults.corrupt_write -= 1
        other = write._replace(lamports=min(write.lamports + 1, U64_MAX))
        self._altered.setdefault(event.slot, {})[write.write_version] = other
        return replace(event, write=other)

    def _as_streamed(self, event: BlockMade) -> BlockMade:
        """The block with the writes that were streamed."""
        altered = self._altered.pop(event.record.slot, None)
        if not altered or event.record.account_writes is None:
            return event
        writes = [
            streamed
            for write in event.record.account_writes
            if (streamed := altered.get(write.write_version, write)) is not None
        ]
        return replace(event, record=replace(event.record, account_writes=writes))

    def _all_of(self, slot: Slot) -> list[ChainEvent]:
        packed = self._packed.get(slot)
        return [*(_unpacked(packed) if packed is not None else ()), *self._slots[slot]]

    def _pack_older(self) -> None:
        for slot in sorted(self._slots)[:-_OPEN_SLOTS]:
            if slot not in self._packed:
                self._packed[slot] = _packed(self._slots[slot])
                self._slots[slot] = []

    def _forget(self) -> None:
        excess = len(self._slots) - max(self._faults.replay_slots, 1)
        if excess > 0:
            for slot in sorted(self._slots)[:excess]:
                del self._slots[slot]
                self._packed.pop(slot, None)
                # A late status of a forgotten slot must not make it look like one that is kept.
                self._forgotten_below = Slot(slot + 1)


class Subscription:
    """What a subscriber has not read yet: iterate over it, and `close` it in the end."""

    def __init__(self, limit: int, subscriptions: "set[Subscription]") -> None:
        self._limit = limit
        self._subscriptions = subscriptions
        self._waiting: deque[ChainEvent] = deque()
        self._lagged = False
        self._something = asyncio.Event()

    def put(self, event: ChainEvent) -> None:
        """Take it for the reader, or give the reader up."""
        if len(self._waiting) >= self._limit:
            # The end comes at once: a reader this far behind would only learn it too late.
            self._lagged = True
            self.close()
        else:
            self._waiting.append(event)
        self._something.set()

    def close(self) -> None:
        """Take nothing more, and drop what waits."""
        self._subscriptions.discard(self)
        self._waiting.clear()

    def take(self) -> list[ChainEvent]:
        """All that waits now, oldest first; what was lost by lagging is reported by iterating."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChainEvent:
        """The next event; Lagged when the reader was too slow for it."""
        while not self._waiting:
            if self._lagged:
                raise Lagged
            self._something.clear()
            await self._something.wait()
        return self._waiting.popleft()


def _packed(events: list[ChainEvent]) -> bytes:
    packed = zstandard.ZstdCompressor(level=1).compress(pickle.dumps(events, protocol=5))
    # A copy: python-zstandard's bytes keep the memory of the largest result that there could be.
    return bytes(memoryview(packed))


def _unpacked(packed: bytes) -> list[ChainEvent]:
    events: list[ChainEvent] = pickle.loads(zstandard.ZstdDecompressor().decompress(packed))
    return events


def slot_of(event: ChainEvent) -> Slot:
    """The slot it happened in."""
    return event.record.slot if isinstance(event, BlockMade) else event.slot
