"""Gaps of the archive: slots of its range that are neither archived nor proved skipped.

Recording a slot closes the gaps that it fills and opens those that its parent link shows. Between
the archive's ends, a slot that is neither archived nor in an open gap was skipped: closing a range
by hand therefore declares its slots skipped.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime

from chain.blocks import SlotRecord
from chain.slot_ranges import SlotRange, between
from chain.units import Slot
from gaps import life_cycle
from gaps.slot_gap import NOT_YET_KNOWN, SOURCE_WITHOUT_ACCOUNTS, GapStatus
from rewind.errors import SlotConflict
from rewind.models import Gap
from rewind.recording.store import gaps as gap_store
from rewind.recording.store import slots as store

PARENT_LINK = "parent link"

archive_gaps = life_cycle.AreaGaps(
    Gap,
    stored=store.archived_between,
    first_slot=store.first_kept_slot,
    closing_event=life_cycle.PROVED_SKIPPED,
)


def resume_slot() -> Slot | None:
    """Up to here nothing is left for a stream to give: all is archived, skipped, or a gap that has
    been tried to be filled since, which follows its own clock. None while the archive is empty.
    """
    found = store.bounds()
    if found is None:
        return None
    untried = gap_store.lowest_untried(*found)
    return found[1] if untried is None else Slot(untried - 1)


def follow_links(
    fresh: Sequence[SlotRecord],
    *,
    without_accounts: Sequence[SlotRecord],
    source: str,
    now: datetime,
) -> None:
    """Gaps are what they are once the fresh slots, ascending, are archived; raises SlotConflict
    when a link leaves out a slot that is archived.

    From here to the end of the transaction no one else changes a gap, so that one that is opened
    meanwhile cannot miss that these slots are there.
    """
    life_cycle.lock()
    bounds = store.bounds()
    around = _Around(fresh)
    for record in fresh:
        _check_links(record, around)
    records = sorted([*fresh, *without_accounts], key=lambda record: record.slot)
    window = SlotRange(records[0].parent_slot, records[-1].slot) if records else None
    if window is not None and life_cycle.has_open_gap(Gap, window):
        for record in fresh:
            here = SlotRange(record.slot, record.slot)
            life_cycle.close_range(Gap, here, closed_by=source, now=now)
        for record in records:
            _close_skipped(record, now)
    for record in fresh:
        below = around.below(record.slot)
        if below is not None and record.parent_slot > below:
            _open(SlotRange(record.parent_slot, record.parent_slot), GapStatus.MISSING, now)
    if fresh:
        _open_beyond(fresh, bounds, around, now)
    earliest = min(
        [record.slot for record in fresh] + ([bounds[0]] if bounds else []), default=None
    )
    for record in without_accounts:
        if earliest is not None and record.slot > earliest:
            _open(
                SlotRange(record.slot, record.slot), GapStatus.MISSING, now, SOURCE_WITHOUT_ACCOUNTS
            )


class _Around:
    """The neighbours of fresh slots, among those archived before and the fresh ones."""

    def __init__(self, fresh: Sequence[SlotRecord]) -> None:
        self._fresh = fresh
        self._slots = [record.slot for record in fresh]
        self._stored = store.neighbours(self._slots) if fresh else {}

    def below(self, slot: int) -> int | None:
        stored = self._stored[slot].below
        at = bisect_left(self._slots, slot)
        if not at:
            return stored
        return self._slots[at - 1] if stored is None else max(stored, self._slots[at - 1])

    def above(self, slot: int) -> tuple[int, int] | None:
        """The next slot and its parent."""
        stored, parent = self._stored[slot].above, self._stored[slot].above_parent
        at = bisect_right(self._slots, slot)
        if at < len(self._fresh) and (stored is None or self._slots[at] < stored):
            return self._fresh[at].slot, self._fresh[at].parent_slot
        return None if stored is None or parent is None else (stored, parent)


def _check_links(record: SlotRecord, around: _Around) -> None:
    below, above = around.below(record.slot), around.above(record.slot)
    if below is not None and record.parent_slot < below:
        raise SlotConflict(
            record.slot, f"its parent is {record.parent_slot}, but slot {below} is archived"
        )
    if above is not None and above[1] < record.slot:
        raise SlotConflict(record.slot, f"slot {above[0]} is archived, whose parent is {above[1]}")


def _close_skipped(record: SlotRecord, now: datetime) -> None:
    skipped = SlotRange(record.parent_slot + 1, record.slot - 1)
    if skipped.size > 0:
        life_cycle.close_range(
            Gap, skipped, closed_by=PARENT_LINK, now=now, event=life_cycle.PROVED_SKIPPED
        )


def _open_beyond(
    fresh: Sequence[SlotRecord], bounds: tuple[int, int] | None, around: _Around, now: datetime
) -> None:
    """What lies between the archive's old ends and its new ones; what lay between the old ends is
    covered already.
    """
    for record in fresh:
        below, above = around.below(record.slot), around.above(record.slot)
        if below is not None and (bounds is None or record.slot > bounds[1]):
            _open_between(below, record.slot, record.parent_slot, now)
        if above is not None and bounds is not None and record.slot < bounds[0]:
            _open_between(record.slot, *above, now)


def _open_between(below: int, slot: int, parent: int, now: datetime) -> None:
    fates = between(below, slot, parent)
    for part in fates.unknown:
        _open(part, GapStatus.UNKNOWN, now)
    for part in fates.missing:
        _open(part, GapStatus.MISSING, now)


def _open(slots: SlotRange, status: GapStatus, now: datetime, cause: str = NOT_YET_KNOWN) -> None:
    life_cycle.open_gap(Gap, slots, status=status, cause=cause, now=now)
