"""Messages received of a slot that is not closed, over several connections."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from chain.blocks import Granularity
from chain.units import Slot
from upstream.geyser.closed_slots import ClosedSlot
from upstream.geyser.slot_banks import Reception, of_final_bank
from upstream.geyser.slot_buffers import SlotBuffer, Wholeness
from upstream.geyser.updates import BlockMetaUpdate, TransactionUpdate


@dataclass(slots=True)
class PendingSlot:
    """What is known of a slot that is not closed: this connection's messages, earlier ones'.
    `buffer` is of the bank that a message came of last.
    """

    now: Reception = field(default_factory=Reception)
    earlier: list[Reception] = field(default_factory=list)
    overflowed: bool = False
    buffer: SlotBuffer = field(init=False)

    def __post_init__(self) -> None:
        self.buffer = self.now.bank(0)

    @property
    def size(self) -> int:
        return self.now.size + sum(each.size for each in self.earlier)

    @property
    def is_of_before(self) -> bool:
        """Whether its block came by earlier connections alone: after a restart of the node another
        one may have its place.
        """
        return not self.now.metas and any(each.metas for each in self.earlier)

    @property
    def metas(self) -> list[BlockMetaUpdate]:
        """Every block message that came."""
        return [meta for each in (*self.earlier, self.now) for meta in each.metas]

    def blocks(self, blockhash: str) -> list[BlockMetaUpdate]:
        """The block messages with the hash; without one, those of this connection."""
        if not blockhash:
            return self.now.metas
        return [each for each in self.metas if each.blockhash == blockhash]

    def bank(self, bank: int) -> SlotBuffer:
        """This connection's buffer of the bank."""
        if self.buffer.bank != bank:
            self.buffer = self.now.bank(bank)
        return self.buffer

    def add(self, update: TransactionUpdate | BlockMetaUpdate) -> int:
        """Adds a message; returns the bytes that it added."""
        return self.bank(update.bank).put(update)

    def die(self, bank: int) -> bool:
        """A bank died, 0 for the one whose messages have no id; False if nothing is left."""
        for each in (*self.earlier, self.now) if not bank else (self.now,):
            each.die(bank)
        self.buffer = self.now.bank(0)
        return self.size > 0

    def name(self, bank: int, *, is_final: bool) -> None:
        """A status says which bank the cluster voted for."""
        self.now.confirmed = bank
        if is_final:
            self.now.finalized = bank

    def set_aside(self) -> None:
        """What follows comes from another connection."""
        if self.now.size:
            # The first has the slot's beginning, which replays may lack; the newest, most of the
            # rest.
            self.earlier = [*self.earlier[:1], self.now]
        self.now = Reception()
        self.buffer = self.now.bank(0)


class Best(NamedTuple):
    """The buffer that proves most, None if there is none, and the final bank's messages of each
    connection. `is_separated`: they could be separated from those of another bank in each.
    """

    buffer: SlotBuffer | None = None
    wholeness: Wholeness = Wholeness.PARTIAL
    buffers: tuple[SlotBuffer, ...] = ()
    is_separated: bool = True


def best_of(
    pending: PendingSlot | None,
    is_blockhash: Callable[[bytes], bool],
    *,
    stores_untouched: bool,
    blockhash: str = "",
) -> Best:
    """Of this connection's messages, alone and together with earlier ones', what proves most.
    `blockhash` is the block's, "" where it is not known otherwise.
    """
    if pending is None or (pending.is_of_before and not blockhash):
        return Best()

    def rate(buffer: SlotBuffer) -> Wholeness:
        return buffer.wholeness(is_blockhash, stores_untouched=stores_untouched)

    receptions = (*pending.earlier, pending.now)
    found = [of_final_bank(each, blockhash, rate) for each in receptions]
    buffers = [each for each in found if each is not None]
    is_separated = len(buffers) == len(found)
    if not buffers or (found[-1] is None and not blockhash):
        return Best(is_separated=is_separated)
    *earlier, newest = buffers
    candidates = [newest]
    together: SlotBuffer | None = newest
    for each in reversed(earlier):
        together = None if together is None else each.joined(together)
        if together is not None:
            candidates.append(together)
    rated = [(rate(each), -place) for place, each in enumerate(candidates)]
    wholeness, place = max(rated)
    received = tuple(each for each in buffers if each.size)
    return Best(candidates[-place], wholeness, received, is_separated)


def closed_slot(slot: Slot, buffer: SlotBuffer, wholeness: Wholeness) -> ClosedSlot:
    """The slot, of a buffer that has at least its ledger part."""
    meta = buffer.meta
    assert meta is not None
    writes = None
    if wholeness >= Wholeness.LAST_WRITES:
        writes = [each.packed for each in buffer.own_writes()]
    return ClosedSlot(
        slot=slot,
        parent_slot=meta.parent_slot,
        blockhash=meta.blockhash,
        granularity=(Granularity.WRITE if wholeness >= Wholeness.EVERY_WRITE else Granularity.SLOT),
        meta=meta.packed,
        transactions=[
            buffer.transactions[index].packed for index in range(len(buffer.transactions))
        ],
        account_writes=writes,
    )
