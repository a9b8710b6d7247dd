"""Ranges of slots: arithmetic, and classification of slots between blocks by parent links."""

from collections.abc import Iterable
from typing import NamedTuple


class SlotRange(NamedTuple):
    """The slots from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class Fates(NamedTuple):
    """A window's slots but for those with a block: three disjoint lists, each ascending."""

    skipped: list[SlotRange]
    missing: list[SlotRange]
    unknown: list[SlotRange]


def union(ranges: Iterable[SlotRange]) -> list[SlotRange]:
    """The same slots as ascending ranges that neither overlap nor touch."""
    merged: list[SlotRange] = []
    for each in sorted(ranges):
        if each.last < each.first:
            continue
        if merged and each.first <= merged[-1].last + 1:
            merged[-1] = SlotRange(merged[-1].first, max(merged[-1].last, each.last))
        else:
            merged.append(SlotRange(*each))
    return merged


def subtract(ranges: Iterable[SlotRange], taken: Iterable[SlotRange]) -> list[SlotRange]:
    """The slots of `ranges` that are in none of `taken`."""
    left: list[SlotRange] = []
    cuts = union(taken)
    at = 0
    for each in union(ranges):
        first = each.first
        while at < len(cuts) and cuts[at].last < first:
            at += 1
        number = at
        while number < len(cuts) and cuts[number].first <= each.last:
            if first < cuts[number].first:
                left.append(SlotRange(first, cuts[number].first - 1))
            first = cuts[number].last + 1
            number += 1
        if first <= each.last:
            left.append(SlotRange(first, each.last))
    return left


def clip(ranges: Iterable[SlotRange], first: int, last: int) -> list[SlotRange]:
    """The parts of the ranges within `first` to `last`."""
    cut = (SlotRange(max(each.first, first), min(each.last, last)) for each in ranges)
    return [each for each in cut if each.first <= each.last]


def runs(slots: Iterable[int]) -> list[SlotRange]:
    """Single slots as ranges."""
    return union(SlotRange(slot, slot) for slot in slots)


def between(below: int, slot: int, parent: int) -> Fates:
    """The slots strictly between two blocks, `below` and `slot`, by the parent link of `slot`:
    those above the parent were skipped, the parent is missing unless it is `below`.
    """
    skipped = clip([SlotRange(parent + 1, slot - 1)], below + 1, slot - 1)
    missing = clip([SlotRange(parent, parent)], below + 1, slot - 1)
    unknown = clip([SlotRange(below + 1, parent - 1)], below + 1, slot - 1)
    return Fates(skipped, missing, unknown)
