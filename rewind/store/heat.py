"""How many slots of each cell of a range are archived."""

from collections.abc import Sequence
from typing import NamedTuple

from columns.slot_cells import Lacking, Tallied, counts_of, gaps_of

_ARCHIVED = Tallied(
    rows="rewind_archivedslot",
    tally="rewind_slottally",
    row_counts=("count(*)", "count(*) FILTER (WHERE granularity > 0)"),
    tally_counts=("sum(slots)", "sum(coarse_slots)"),
)


class CellCounts(NamedTuple):
    """Slots of a cell; of `coarse` ones perhaps not every write is there."""

    archived: int
    coarse: int
    lacking: Lacking


def count_cells(
    firsts: Sequence[int], lasts: Sequence[int], *, first: int, last: int
) -> list[CellCounts]:
    """Of cells that ascend and touch each other, what lies from `first` to `last`."""
    lows = [max(each, first) for each in firsts]
    highs = [min(each, last) for each in lasts]
    counted = counts_of(_ARCHIVED, lows, highs)
    lacking = gaps_of("rewind_gap", firsts, lasts, first=first, last=last)
    return [
        CellCounts(archived, coarse, gaps)
        for (archived, coarse), gaps in zip(counted, lacking, strict=True)
    ]
