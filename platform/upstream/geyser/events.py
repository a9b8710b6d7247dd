"""What a stream's messages prove, as reported by the Assembler."""

from dataclasses import dataclass, field
from typing import TypeAlias

from chain.units import Slot
from upstream.geyser.messages import ClosedSlot
from upstream.geyser.slot_buffers import SlotBuffer, Wholeness


@dataclass(frozen=True, slots=True)
class SlotClosed:
    """A slot is final and its ledger part proved whole; `reason` says why its writes are not.
    `buffers` are the messages it was made of, one buffer for each connection.
    """

    closed: ClosedSlot
    reason: str = ""
    wholeness: Wholeness = field(default=Wholeness.LEDGER, compare=False)
    buffers: tuple[SlotBuffer, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SlotDead:
    """A block of the slot died; the slot may come again with another."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class SlotIncomplete:
    """A block was made and finalized here and not all of it came; `reason` is a cause's word.
    `buffers` are the messages that did.
    """

    slot: Slot
    reason: str
    buffers: tuple[SlotBuffer, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SlotsLost:
    """Of these slots it stays unknown which are final, and no connection says more of them."""

    first: Slot
    last: Slot


@dataclass(frozen=True, slots=True)
class HeadMoved:
    """The newest slot that was seen, or the newest finalized one, is another."""

    head: Slot
    finalized: Slot | None


@dataclass(frozen=True, slots=True)
class ChainChanged:
    """A finalized block does not descend from the last finalized slot: this is another chain."""

    slot: Slot
    parent: Slot
    expected: Slot


@dataclass(frozen=True, slots=True)
class TooFarAhead:
    """The stream speaks of a slot that the chain cannot have reached: it is ignored. Reported for
    the first one of a connection.
    """

    slot: Slot


Event: TypeAlias = (
    SlotClosed | SlotDead | SlotIncomplete | SlotsLost | HeadMoved | ChainChanged | TooFarAhead
)
