"""Errors of ranges of slots."""

from chain.units import Slot
from jsonrpc.errors import InvalidParams


class EmptyRange(InvalidParams):
    """The range of slots ends before it begins."""

    reason = "empty_range"

    def __init__(self, from_slot: Slot, to_slot: Slot) -> None:
        super().__init__(
            "Invalid params: fromSlot is above toSlot", fromSlot=from_slot, toSlot=to_slot
        )
