"""What the archive can refuse."""

from chain.units import Slot
from jsonrpc.errors import InvalidParams


class EmptyRange(InvalidParams):
    """A range of slots that ends before it begins."""

    reason = "empty_range"

    def __init__(self, from_slot: Slot, to_slot: Slot) -> None:
        super().__init__(
            "Invalid params: fromSlot is above toSlot", fromSlot=from_slot, toSlot=to_slot
        )


class BadSlot(Exception):
    """A slot that cannot be archived; the text names the slot and the fault."""

    def __init__(self, slot: Slot, reason: str) -> None:
        super().__init__(f"slot {slot}: {reason}")
        self.slot = slot
        self.reason = reason


class SlotConflict(BadSlot):
    """A slot that contradicts what is archived: another block, or a chain that leaves it out."""


class BadBaseline(Exception):
    """Accounts that cannot be a baseline: nothing of them was recorded."""
