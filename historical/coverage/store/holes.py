"""Slots that the ledger does not have between its blocks: parents that the links of stored blocks
name, and what lies below these down to the next stored block. Found by counts over runs of slots,
so that a ledger of millions of slots with a few holes reads a few thousand rows.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chain.slot_ranges import SlotRange
from columns.queries import all_rows
from columns.slot_cells import RUN_SLOTS
from historical.coverage.store.coverage import count_blocks

# Into so many cells one is divided that has a hole.
_CELLS = 16
# A hole lies in the end of one cell, in cells without a block, and in the begin of another.
_CELLS_OF_A_HOLE = 3

# Of cells: parent links within each and of the next block above it, with the block below.
_LINKS = """
SELECT DISTINCT before + 1, parent_slot
FROM unnest(%s::bigint[], %s::bigint[]) AS cell (low, high), LATERAL (
    SELECT parent_slot, lag(slot) OVER (ORDER BY slot) AS before FROM (
        (SELECT slot, parent_slot FROM historical_block WHERE slot < low ORDER BY slot DESC LIMIT 1)
        UNION ALL
        (SELECT slot, parent_slot FROM historical_block WHERE slot BETWEEN low AND high)
        UNION ALL
        (SELECT slot, parent_slot FROM historical_block WHERE slot > high ORDER BY slot LIMIT 1)
    ) AS blocks
) AS links
WHERE parent_slot > before ORDER BY 1 LIMIT %s
"""


class Holes(NamedTuple):
    """The lowest holes that have a slot of a range, whole ones, and how many blocks it holds. The
    last slot of a hole had a block; of the others it is not known. `truncated`: there are more.
    `is_whole`: none was missing when the blocks were counted. Otherwise there may still be no
    ranges: the missing blocks came before they were looked for.
    """

    blocks: int
    ranges: list[SlotRange]
    truncated: bool
    is_whole: bool


def holes_between(first: int, last: int, limit: int) -> Holes:
    """Both ends lie between the lowest and the highest block. A slot that is missing all the while
    is in one of them; one whose block comes meanwhile may be.
    """
    ((blocks, skipped),) = count_blocks([first], [last])
    missing = last - first + 1 - blocks - skipped
    if missing <= 0:
        return Holes(blocks, [], truncated=False, is_whole=True)
    cells = _cells_with_holes(SlotRange(first, last), missing, limit)
    lows, highs = [each.first for each in cells], [each.last for each in cells]
    # Beside them one at each end, which may lie outside of the range.
    found = [SlotRange(*row) for row in all_rows(_LINKS, [lows, highs, limit + 3])]
    found = [each for each in found if each.first <= last and each.last >= first]
    return Holes(blocks, found[:limit], truncated=len(found) > limit, is_whole=False)


class _Cell(NamedTuple):
    first: int
    last: int
    missing: int

    @property
    def is_empty(self) -> bool:
        """All of it lies in one hole."""
        return self.missing == self.last - self.first + 1

    @property
    def is_divisible(self) -> bool:
        return not self.is_empty and self.last - self.first >= RUN_SLOTS


def _cells_with_holes(whole: SlotRange, missing: int, limit: int) -> list[_Cell]:
    """Cells of at most RUN_SLOTS slots, or without a block, in which the lowest holes lie: `limit`
    of them and one more, if there are so many.
    """
    cells = [_Cell(*whole, missing)]
    while any(cell.is_divisible for cell in cells):
        kept = [cell for cell in cells if not cell.is_divisible]
        parts = [part for cell in cells if cell.is_divisible for part in _parts(cell)]
        counted = count_blocks([part.first for part in parts], [part.last for part in parts])
        for part, (blocks, skipped) in zip(parts, counted, strict=True):
            absent = part.size - blocks - skipped
            if absent > 0:
                kept.append(_Cell(*part, absent))
        cells = list(_joined(sorted(kept)))[: _CELLS_OF_A_HOLE * (limit + 1)]
    return cells


def _parts(cell: _Cell) -> Iterator[SlotRange]:
    """The cell in parts whose ends fit the runs of the counts."""
    runs = -(-(cell.last - cell.first + 1) // (_CELLS * RUN_SLOTS))
    step = runs * RUN_SLOTS
    first = cell.first
    while first <= cell.last:
        last = min(cell.last, (first // step + 1) * step - 1)
        yield SlotRange(first, last)
        first = last + 1


def _joined(cells: Iterable[_Cell]) -> Iterator[_Cell]:
    """Neighbours without a block as one."""
    before: _Cell | None = None
    for cell in cells:
        if before is None:
            before = cell
        elif before.is_empty and cell.is_empty and before.last + 1 == cell.first:
            before = _Cell(before.first, cell.last, before.missing + cell.missing)
        else:
            yield before
            before = cell
    if before is not None:
        yield before
