"""Opens and closes gaps of the ledger by the parent links of new blocks."""

from collections.abc import Sequence
from datetime import datetime

from chain.blocks import SlotRecord
from chain.slot_ranges import between
from gaps.slot_gap import NOT_YET_KNOWN, GapStatus
from historical.blocks.store import blocks as store
from historical.coverage.services.gaps import ledger_gaps, settle
from historical.recording.services.recording import Recorded

# No gap is opened further below a block than this: older blocks may be from an import that the
# chain does not continue, and an outage of that length opens a gap of its own.
_FURTHEST_SLOTS = 20_000
# Slots below the lowest block of a file that its parent link may prove skipped.
_SKIPPED_BELOW = 1_000


def follow(
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
