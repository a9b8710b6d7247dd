"""Coverage: the ranges in which the ledger has the finalized chain without a gap."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class Coverage:
    """Built from the ledger's blocks, (slot, parent slot, height), ascending by slot."""

    def __init__(self, blocks: Sequence[tuple[int, int, int | None]]) -> None:
        self._slots = [slot for slot, _, _ in blocks]
        self._parents = [parent for _, parent, _ in blocks]
        # Per block: the index of the first block of its run without a gap.
        self._whole_from: list[int] = []
        # Heights rise along a chain; a block without one has its parent's plus one.
        self._heights: list[int] = []
        for index, (_, parent, height) in enumerate(blocks):
            follows = index > 0 and parent == blocks[index - 1][0]
            self._whole_from.append(self._whole_from[-1] if follows else index)
            below = self._heights[-1] if index else -1
            self._heights.append(below + follows if height is None else max(height, below))
        # Per block: the next known height, at it or above. Its own is no greater.
        self._next_known: list[int | None] = [height for _, _, height in blocks]
        for index in range(len(blocks) - 2, -1, -1):
            if self._next_known[index] is None:
                self._next_known[index] = self._next_known[index + 1]

    def height_at(self, slot: int) -> int:
        """The height of the newest block up to the slot, or less if it is unknown; -1 below all."""
        end = bisect_right(self._slots, slot)
        return self._heights[end - 1] if end else -1

    def is_whole(self, first: int, last: int) -> bool:
        """True if every block from slot `first` up to the first one at or above `last` is stored,
        and that one too.
        """
        end = bisect_left(self._slots, last)
        return end < len(self._slots) and self._is_whole(first, end)

    def is_past(self, first: int, height: int) -> bool:
        """True if every block from slot `first` up to the first one above the height is stored,
        and that one too.
        """
        end = bisect_right(self._heights, height)
        return end < len(self._slots) and self._is_whole(first, end)

    def has_all_above(self, lowest: int, height: int) -> bool:
        """True if every block above the height `lowest` up to the first one above `height` is
        stored, and that one too. Only known heights prove where that range begins.
        """
        end = bisect_right(self._heights, height)
        if end >= len(self._slots):
            return False
        known = self._next_known[self._whole_from[end]]
        return known is not None and known <= lowest + 1

    def _is_whole(self, first: int, end: int) -> bool:
        begin = bisect_left(self._slots, first)
        if begin > end:
            return True  # the range begins above all blocks of interest
        is_begun = self._slots[begin] == first or self._parents[begin] < first
        return is_begun and self._whole_from[end] <= begin
