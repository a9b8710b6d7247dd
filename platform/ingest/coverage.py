"""Coverage: from where to where the ledger has the finalized chain without a gap."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class Coverage:
    """Of blocks of the ledger, (slot, parent slot, height), ascending by slot."""

    def __init__(self, blocks: Sequence[tuple[int, int, int | None]]) -> None:
        self._slots = [slot for slot, _, _ in blocks]
        self._parents = [parent for _, parent, _ in blocks]
        # The place of the lowest block from which on nothing is missing up to each.
        self._whole_from: list[int] = []
        # Heights rise along a chain, and a block whose own is not told has its parent's and one.
        self._heights: list[int] = []
        for place, (_, parent, height) in enumerate(blocks):
            follows = place > 0 and parent == blocks[place - 1][0]
            self._whole_from.append(self._whole_from[-1] if follows else place)
            below = self._heights[-1] if place else -1
            self._heights.append(below + follows if height is None else max(height, below))
        # The height that is told next, at each block or after it: its own is no greater.
        self._told_next: list[int | None] = [height for _, _, height in blocks]
        for place in range(len(blocks) - 2, -1, -1):
            if self._told_next[place] is None:
                self._told_next[place] = self._told_next[place + 1]

    def is_whole(self, first: int, last: int) -> bool:
        """Whether every block from slot `first` up to the first block at or above `last` is here,
        and that one too.
        """
        end = bisect_left(self._slots, last)
        return end < len(self._slots) and self._is_whole(first, end)

    def is_past(self, first: int, height: int) -> bool:
        """Whether every block from slot `first` up to the first one above the height is here, and
        that one too.
        """
        end = bisect_right(self._heights, height)
        return end < len(self._slots) and self._is_whole(first, end)

    def has_all_above(self, lowest: int, height: int) -> bool:
        """Whether every block above the height `lowest` up to the first one above the other height
        is here, and that one too. Only heights that are told prove where that begins.
        """
        end = bisect_right(self._heights, height)
        if end >= len(self._slots):
            return False
        told = self._told_next[self._whole_from[end]]
        return told is not None and told <= lowest + 1

    def _is_whole(self, first: int, end: int) -> bool:
        begin = bisect_left(self._slots, first)
        if begin > end:
            return True  # it begins above: none of these blocks can matter
        is_begun = self._slots[begin] == first or self._parents[begin] < first
        return is_begun and self._whole_from[end] <= begin
