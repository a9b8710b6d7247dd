"""Gaps of the ledger: slots whose block was produced, or may have been, and is not stored. Parent
links of new blocks open and close them.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from chain.blocks import SlotRecord
from chain.slot_ranges import SlotRange, between, clip, runs, subtract, union
from gaps import life_cycle
from gaps.slot_gap import NOT_YET_KNOWN, GapStatus
from historical.blocks.store import blocks as store
from historical.models import Gap
from historical.recording.services.recording import Recorded

PARENT_LINK = "parent link"
# No gap is opened further below a block than this: older blocks may be from an import that the
# chain does not continue, and an outage of that length opens a gap of its own.
_FURTHEST_SLOTS = 20_000
# Slots below the lowest block of a file that its parent link may prove skipped.
_SKIPPED_BELOW = 1_000


def _stored(first: int, last: int) -> list[int]:
    return [slot for slot, _ in store.links_between(first, last)]


ledger_gaps = life_cycle.AreaGaps(
    Gap, stored=_stored, first_slot=lambda: 0, closing_event=life_cycle.FILLED
)


@transaction.atomic
def settle(from_slot: int, to_slot: int, *, closed_by: str, now: datetime) -> int:
    """Closes open gaps in the range where a block is stored now (`closed_by` names its source) or a
    stored block's parent link proves the slots skipped; returns how many slots. A slot that such a
    link names as the parent is marked missing.
    """
    life_cycle.lock()
    closed = 0
    for gap in life_cycle.open_gaps(Gap, SlotRange(from_slot, to_slot)):
        for first, last in clip([SlotRange(gap.from_slot, gap.to_slot)], from_slot, to_slot):
            links = store.links_between(first, last, and_next=True)
            stored = clip(runs(slot for slot, _ in links), first, last)
            skipped = [SlotRange(parent + 1, slot - 1) for slot, parent in links]
            for part in stored:
                closed += life_cycle.close_range(Gap, part, closed_by=closed_by, now=now)
            for part in union(clip(skipped, first, last)):
                closed += life_cycle.close_range(
                    Gap, part, closed_by=PARENT_LINK, now=now, event=life_cycle.PROVED_SKIPPED
                )
            parents = clip(runs(parent for _, parent in links), first, last)
            for part in subtract(parents, stored):
                ledger_gaps.open_gap(*part, status=GapStatus.MISSING, cause=gap.cause, now=now)
    return closed


def follow_links(
    records: Sequence[SlotRecord], *, not_below: int | None, source: str, now: datetime
) -> None:
    """Updates the gaps for new records (ascending). Opens none below `not_below`, where following
    began, nor below the lowest block within reach.
    """
    if not records:
        return
    first, last = records[0].slot, records[-1].slot
    if ledger_gaps.has_open_gap(min(record.parent_slot for record in records), last):
        settle(records[0].parent_slot, last, closed_by=source, now=now)
    lowest = first - _FURTHEST_SLOTS if not_below is None else not_below
    for record in records:
        parent = record.parent_slot
        if parent < lowest or store.links_between(parent, parent):
            continue
        floor = max(lowest, parent - _FURTHEST_SLOTS)
        below = store.links_between(floor, parent)
        if not below:
            continue
        fates = between(below[-1][0], record.slot, parent)
        for part in fates.missing:
            ledger_gaps.open_gap(*part, status=GapStatus.MISSING, cause=NOT_YET_KNOWN, now=now)
        for part in fates.unknown:
            ledger_gaps.open_gap(*part, status=GapStatus.UNKNOWN, cause=NOT_YET_KNOWN, now=now)


def close_imported(recorded: Recorded, *, source: str, now: datetime) -> None:
    """Closes gaps of slots that an import just stored or proved skipped, those given up too. Opens
    none: a file may have any blocks of a range.
    """
    if recorded.first_slot is None or recorded.last_slot is None:
        return
    first = max(0, recorded.first_slot - _SKIPPED_BELOW)
    if ledger_gaps.has_open_gap(first, recorded.last_slot):
        settle(first, recorded.last_slot, closed_by=source, now=now)
