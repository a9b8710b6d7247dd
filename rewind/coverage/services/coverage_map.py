"""Archive and ledger beside each other, from epochs down to single slots."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from chain.epochs import EpochSchedule
from chain.slot_ranges import SlotRange
from columns.slot_cells import RUN_SLOTS
from historical.blocks.store import blocks as ledger
from historical.coverage.store import coverage as ledger_store
from rewind.coverage.services.epochs import Epochs, epochs
from rewind.coverage.store import coverage_map as archive_store
from rewind.recording.store import slots as archive

CELLS_OF_EPOCH_IN_LIST = 24
_CELLS_OF_EPOCH = 432
# A line of the list needs no finer ends than the runs that are counted, when it has many of them.
_MANY_SLOTS = 2 * RUN_SLOTS * CELLS_OF_EPOCH_IN_LIST


@dataclass(frozen=True, slots=True)
class Cell:
    """Slots from `first` to `last`, `slots` of them in the area's range. `not_covered` are neither
    stored, nor proved skipped, nor in a gap: between two imports, not checked yet.
    """

    first: int
    last: int
    slots: int
    held: int = 0
    coarse: int = 0
    skipped: int = 0
    missing: int = 0
    unknown: int = 0
    not_covered: int = 0

    @property
    def range(self) -> SlotRange:
        return SlotRange(self.first, self.last)

    @property
    def not_held(self) -> int:
        return self.missing + self.unknown + self.not_covered

    @property
    def share_missing(self) -> float | None:
        """Of the slots that had, or may have had, a block; None when there are none."""
        wanted = self.slots - self.skipped
        return self.not_held / wanted if wanted > 0 else None


class Ranges(NamedTuple):
    """From where to where each area reaches; None while it is empty."""

    archive: SlotRange | None
    ledger: SlotRange | None

    @property
    def both(self) -> SlotRange | None:
        there = [each for each in self if each is not None]
        if not there:
            return None
        return SlotRange(min(each.first for each in there), max(each.last for each in there))


@dataclass(frozen=True, slots=True)
class EpochRow:
    """An epoch with the cells of both areas, and each area's sum."""

    epoch: int
    first: int
    last: int
    archive: list[Cell]
    ledger: list[Cell]


def ranges() -> Ranges:
    archived, stored = archive.bounds(), ledger.bounds()
    return Ranges(
        None if archived is None else SlotRange(*archived),
        None if stored is None else SlotRange(*stored),
    )


def totals(found: Ranges) -> tuple[Cell | None, Cell | None]:
    """The whole of the archive and of the ledger, each as one cell."""
    return (
        None if found.archive is None else _archive(found.archive, [found.archive])[0],
        None if found.ledger is None else _ledger(found.ledger, [found.ledger])[0],
    )


def epoch_rows(found: Ranges, *, newest: int | None, limit: int) -> tuple[list[EpochRow], Epochs]:
    """Epochs in which either area has a slot or a gap, newest first, from epoch `newest` down."""
    known, both = epochs(), found.both
    if both is None:
        return [], known
    schedule = known.schedule
    chosen = _epochs_with_slots(schedule, both, newest, limit)[::-1]
    cells = [
        cell
        for epoch in chosen
        for cell in _shares(SlotRange(*schedule.slots_of(epoch)), CELLS_OF_EPOCH_IN_LIST)
    ]
    if not cells:
        return [], known
    archived, stored = _archive(found.archive, cells), _ledger(found.ledger, cells)
    rows = []
    for epoch in chosen:
        whole = SlotRange(*schedule.slots_of(epoch))
        inside = [at for at, cell in enumerate(cells) if whole.first <= cell.first <= whole.last]
        part = slice(inside[0], inside[-1] + 1)
        rows.append(EpochRow(epoch, *whole, archived[part], stored[part]))
    return rows[::-1], known


def _epochs_with_slots(
    schedule: EpochSchedule, both: SlotRange, newest: int | None, limit: int
) -> list[int]:
    highest = schedule.epoch_of(both.last)
    below = schedule.slots_of(highest if newest is None else min(highest, newest))[1] + 1
    found: list[int] = []
    while len(found) < limit and below > both.first:
        slot = archive_store.highest_below(below)
        if slot is None or slot < both.first:
            break
        found.append(schedule.epoch_of(slot))
        below = schedule.slots_of(found[-1])[0]
    return found


def epoch_cells(found: Ranges, whole: SlotRange) -> tuple[list[Cell], list[Cell]]:
    """An epoch in some 432 cells, of the archive and of the ledger; on mainnet of 1,000 slots."""
    size = -(-whole.size // _CELLS_OF_EPOCH)
    if size > RUN_SLOTS // 2:
        size = -(-size // RUN_SLOTS) * RUN_SLOTS
    edges = [whole.first, *range(whole.first - whole.first % size + size, whole.last + 1, size)]
    cells = _between([*edges, whole.last + 1])
    return _archive(found.archive, cells), _ledger(found.ledger, cells)


def _shares(whole: SlotRange, count: int) -> list[SlotRange]:
    """The range in equal parts, or nearly so."""
    edges = [whole.first + whole.size * number // count for number in range(count)]
    if whole.size >= _MANY_SLOTS:
        edges[1:] = [round(edge / RUN_SLOTS) * RUN_SLOTS for edge in edges[1:]]
    return _between(sorted({*edges, whole.last + 1}))


def _between(edges: Sequence[int]) -> list[SlotRange]:
    return [SlotRange(first, end - 1) for first, end in pairwise(edges)]


def _archive(reach: SlotRange | None, cells: Sequence[SlotRange]) -> list[Cell]:
    found = []
    for cell, slots, counts in _counted(reach, cells, archive_store.count_cells):
        gaps = counts.gaps
        # Between the archive's ends what is neither archived nor in a gap was skipped.
        skipped = max(0, slots - counts.archived - gaps.missing - gaps.unknown)
        held = {"held": counts.archived, "coarse": counts.coarse, "skipped": skipped}
        found.append(Cell(*cell, slots, missing=gaps.missing, unknown=gaps.unknown, **held))
    return found or _outside(cells)


def _ledger(reach: SlotRange | None, cells: Sequence[SlotRange]) -> list[Cell]:
    found = []
    for cell, slots, counts in _counted(reach, cells, ledger_store.count_cells):
        gaps = counts.missing
        known = counts.blocks + counts.skipped + gaps.missing + gaps.unknown
        held = {"held": counts.blocks, "skipped": counts.skipped}
        held["not_covered"] = max(0, slots - known)
        found.append(Cell(*cell, slots, missing=gaps.missing, unknown=gaps.unknown, **held))
    return found or _outside(cells)


def _counted(
    reach: SlotRange | None, cells: Sequence[SlotRange], count: Callable[..., Iterable[Any]]
) -> Iterator[tuple[SlotRange, int, Any]]:
    """Each cell, how many of its slots are within reach, and its counts; nothing without reach."""
    if reach is None:
        return
    firsts, lasts = [cell.first for cell in cells], [cell.last for cell in cells]
    counted = count(firsts, lasts, first=reach.first, last=reach.last)
    for cell, counts in zip(cells, counted, strict=True):
        yield cell, _inside(cell, reach), counts


def _outside(cells: Sequence[SlotRange]) -> list[Cell]:
    return [Cell(*cell, slots=0) for cell in cells]


def _inside(cell: SlotRange, reach: SlotRange) -> int:
    return max(0, min(cell.last, reach.last) - max(cell.first, reach.first) + 1)
