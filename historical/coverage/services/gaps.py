"""Gaps of the ledger: slots whose block was produced, or may have been, and is not stored."""

from datetime import datetime

from django.db import transaction

from chain.slot_ranges import SlotRange, clip, runs, subtract, union
from gaps import life_cycle
from gaps.slot_gap import GapStatus
from historical.blocks.store import blocks as store
from historical.models import Gap

PARENT_LINK = "parent link"


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
