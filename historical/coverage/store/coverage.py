"""How many slots are stored, skipped or missing, read from counts over runs of slots."""

from collections.abc import Sequence
from typing import NamedTuple

from columns.raw_queries import fetch_all
from columns.slot_cells import CountedTable, GapSlots, counts_of, gaps_of

_LINKED = "sum(greatest(slot - parent_slot - 1, 0))"
_BLOCKS = CountedTable(
    rows="historical_block",
    runs="historical_blocktally",
    row_counts=("count(*)", _LINKED),
    run_counts=("sum(blocks)", "sum(skipped)"),
)
# Of the slots that a block's link proves skipped, those below an edge that the block is above.
_ACROSS = """
SELECT coalesce((SELECT greatest(0, edge - 1 - parent_slot) FROM historical_block
    WHERE slot >= edge ORDER BY slot LIMIT 1), 0)
FROM unnest((SELECT $1::bigint[])) WITH ORDINALITY AS asked (edge, number) ORDER BY number
"""


class CellCounts(NamedTuple):
    """Slots of a cell; `skipped` are proved by parent links of stored blocks."""

    blocks: int
    skipped: int
    missing: GapSlots


def count_cells(
    firsts: Sequence[int], lasts: Sequence[int], *, first: int, last: int
) -> list[CellCounts]:
    """Of cells as `gaps_of` wants them, what lies from `first` to `last`."""
    lows = [max(each, first) for each in firsts]
    highs = [min(each, last) for each in lasts]
    missing = gaps_of("historical_gap", firsts, lasts, first=first, last=last)
    counted = count_blocks(lows, highs)
    return [CellCounts(*each, missing[number]) for number, each in enumerate(counted)]


def count_blocks(lows: Sequence[int], highs: Sequence[int]) -> list[tuple[int, int]]:
    """Of each cell from `lows[i]` to `highs[i]` how many slots hold a block, and how many are
    proved skipped.
    """
    counted = counts_of(_BLOCKS, lows, highs)
    across = [slots for (slots,) in fetch_all(_ACROSS, [*lows, *(high + 1 for high in highs)])]
    cells = []
    for number, (blocks, linked) in enumerate(counted):
        skipped = linked - across[number] + across[len(lows) + number]
        room = max(0, highs[number] - lows[number] + 1 - blocks)
        cells.append((blocks, max(0, min(skipped, room))))
    return cells
