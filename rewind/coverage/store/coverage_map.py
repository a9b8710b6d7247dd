"""How many slots of each cell of a range are archived."""

from collections.abc import Sequence
from typing import NamedTuple

from columns.queries import first_row
from columns.slot_cells import RUN_SLOTS, CountedTable, GapSlots, counts_of, gaps_of

_ARCHIVED = CountedTable(
    rows="rewind_archivedslot",
    runs="rewind_slottally",
    row_counts=("count(*)", "count(*) FILTER (WHERE granularity > 0)"),
    run_counts=("sum(slots)", "sum(coarse_slots)"),
)


class CellCounts(NamedTuple):
    """Slots of a cell; of `coarse` ones perhaps not every write is there."""

    archived: int
    coarse: int
    gaps: GapSlots


def count_cells(
    firsts: Sequence[int], lasts: Sequence[int], *, first: int, last: int
) -> list[CellCounts]:
    """Of cells as `gaps_of` wants them, what lies from `first` to `last`."""
    lows = [max(each, first) for each in firsts]
    highs = [min(each, last) for each in lasts]
    counted = counts_of(_ARCHIVED, lows, highs)
    missing = gaps_of("rewind_gap", firsts, lasts, first=first, last=last)
    return [
        CellCounts(archived, coarse, gaps)
        for (archived, coarse), gaps in zip(counted, missing, strict=True)
    ]


_HIGHEST_BELOW = f"""
SELECT greatest(
    (SELECT run * {RUN_SLOTS} + {RUN_SLOTS - 1} FROM rewind_slottally
        WHERE run <= (%(slot)s - 1) / {RUN_SLOTS} AND slots > 0 ORDER BY run DESC LIMIT 1),
    (SELECT run * {RUN_SLOTS} + {RUN_SLOTS - 1} FROM historical_blocktally
        WHERE run <= (%(slot)s - 1) / {RUN_SLOTS} ORDER BY run DESC LIMIT 1),
    (SELECT to_slot FROM rewind_gap WHERE closed_at IS NULL AND from_slot < %(slot)s
        ORDER BY from_slot DESC LIMIT 1),
    (SELECT to_slot FROM historical_gap WHERE closed_at IS NULL AND from_slot < %(slot)s
        ORDER BY from_slot DESC LIMIT 1))
"""


def highest_below(slot: int) -> int | None:
    """The highest slot below it that either area has, or has a gap at; it may stand for its
    thousand slots.
    """
    found = first_row(_HIGHEST_BELOW, {"slot": slot})[0]
    return None if found is None else min(found, slot - 1)
