"""Messages received of a slot that is not closed, over several connections."""

from collections.abc import Callable
from dataclasses import dataclass, field

from chain.blocks import Granularity
from chain.units import Slot
from upstream.geyser.closed_slots import ClosedSlot
from upstream.geyser.slot_buffers import SlotBuffer, Wholeness


@dataclass(slots=True)
class PendingSlot:
    """What is known of a slot that is not closed: this connection's messages, earlier ones'."""

    buffer: SlotBuffer = field(default_factory=SlotBuffer)
    earlier: list[SlotBuffer] = field(default_factory=list)
    overflowed: bool = False

    @property
    def size(self) -> int:
        return self.buffer.size + sum(each.size for each in self.earlier)

    @property
    def buffers(self) -> tuple[SlotBuffer, ...]:
        """What came, one buffer for each connection, the earliest first."""
        return tuple(each for each in (*self.earlier, self.buffer) if each.size)

    def set_aside(self) -> None:
        self.earlier = [*self.earlier[-1:], self.buffer]
        self.buffer = SlotBuffer()


def best_of(
    pending: PendingSlot | None, is_blockhash: Callable[[bytes], bool], *, stores_untouched: bool
) -> tuple[SlotBuffer | None, Wholeness]:
    """Of this connection's messages, alone and together with earlier ones', the buffer that proves
    most, and how much that is.
    """
    if pending is None:
        return None, Wholeness.PARTIAL
    candidates = [pending.buffer]
    together: SlotBuffer | None = pending.buffer
    for earlier in reversed(pending.earlier):
        together = None if together is None else earlier.joined(together)
        if together is not None:
            candidates.append(together)
    rated = [
        (each.wholeness(is_blockhash, stores_untouched=stores_untouched), -place)
        for place, each in enumerate(candidates)
    ]
    wholeness, place = max(rated)
    return candidates[-place], wholeness


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
