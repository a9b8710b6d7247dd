"""Where slots are stored, as bands over a range: hot, sealed, cold or remote."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from chain.slot_ranges import SlotRange


class Band(StrEnum):
    """`hot`: rows, as they were written. `sealed`: packed in the database. `cold`: packed in the
    object store. `remote`: not stored here, read from an archive when asked for.
    """

    HOT = "hot"
    SEALED = "sealed"
    COLD = "cold"
    REMOTE = "remote"


class Stretch(NamedTuple):
    """The slots from `first` to `last`, both included, of one band."""

    first: int
    last: int
    band: Band

    @property
    def range(self) -> SlotRange:
        return SlotRange(self.first, self.last)


def bands_of(whole: SlotRange, stretches: Iterable[Stretch]) -> list[Stretch]:
    """The range from its lowest slot to its highest, neighbours of one band as one; what no stretch
    has is hot. Stretches may lie partly outside of the range and do not overlap.
    """
    found: list[Stretch] = []
    slot = whole.first
    for first, last, band in sorted(stretches):
        first, last = max(first, slot), min(last, whole.last)
        if first > last:
            continue
        if slot < first:
            _add(found, Stretch(slot, first - 1, Band.HOT))
        _add(found, Stretch(first, last, band))
        slot = last + 1
    if slot <= whole.last:
        _add(found, Stretch(slot, whole.last, Band.HOT))
    return found


def _add(found: list[Stretch], stretch: Stretch) -> None:
    if found and found[-1].band is stretch.band:
        found[-1] = found[-1]._replace(last=stretch.last)
    else:
        found.append(stretch)
