"""Gaps of the ledger: blocks that were made, or may have been, and are not stored."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from chain.slot_ranges import SlotRange, clip, runs, subtract, union
from columns import gap_life
from columns.gaps import GapStatus
from historical.models import Gap
from historical.store import blocks as store

PARENT_LINK = "parent link"


@transaction.atomic
def open_gap(from_slot: int, to_slot: int, *, status: GapStatus, cause: str, now: datetime) -> None:
    """The slots but for those with a stored block are open gaps; what is open already stays so."""
    gap_life.lock()
    there = runs(slot for slot, _ in store.links_between(from_slot, to_slot))
    for part in subtract([SlotRange(from_slot, to_slot)], there):
        gap_life.open_gap(Gap, part, status=status, cause=cause, now=now)


def close_range(
    from_slot: int,
    to_slot: int,
    *,
    closed_by: str,
    now: datetime,
    event: str = gap_life.FILLED,
) -> int:
    """No gap has these slots any more; how many had been open."""
    return gap_life.close_range(
        Gap, SlotRange(from_slot, to_slot), closed_by=closed_by, now=now, event=event
    )


@transaction.atomic
def settle(from_slot: int, to_slot: int, *, closed_by: str, now: datetime) -> int:
    """Open gaps of the range are closed where a block is stored by now (`closed_by` names what
    brought it) or a stored block's parent link proves the slots skipped; how many slots that were.
    A slot that such a link names as a block's parent is told to be missing.
    """
    gap_life.lock()
    window = SlotRange(from_slot, to_slot)
    closed = 0
    for gap in gap_life.open_gaps(Gap, window):
        for first, last in clip([SlotRange(gap.from_slot, gap.to_slot)], *window):
            links = store.links_between(first, last, and_next=True)
            there = clip(runs(slot for slot, _ in links), first, last)
            skipped = [SlotRange(parent + 1, slot - 1) for slot, parent in links]
            for part in there:
                closed += close_range(*part, closed_by=closed_by, now=now)
            for part in union(clip(skipped, first, last)):
                closed += close_range(
                    *part, closed_by=PARENT_LINK, now=now, event=gap_life.PROVED_SKIPPED
                )
            parents = clip(runs(parent for _, parent in links), first, last)
            for part in subtract(parents, there):
                open_gap(*part, status=GapStatus.MISSING, cause=gap.cause, now=now)
    return closed


def forget_below(slot: int) -> None:
    """The ledger's window begins at the slot: nobody fills what lies below."""
    gap_life.cut_below(Gap, slot)


def note_try(
    gap_id: int, *, source: str, result: str, now: datetime, next_try_at: datetime | None
) -> None:
    """One more try stands in the gap's history."""
    gap_life.record_attempt(
        Gap, gap_id, source=source, result=result, now=now, next_try_at=next_try_at
    )


def try_now(gap_ids: Iterable[int], *, now: datetime) -> int:
    """The open ones among them are due, also those that were given up; how many."""
    return gap_life.retry_now(Gap, gap_ids, now=now)


def give_up(gap_ids: Iterable[int], *, by: str, now: datetime) -> int:
    """The open ones among them are tried no more, by decision of the staff; how many."""
    return gap_life.give_up_gaps(Gap, gap_ids, by=by, now=now)


def has_open_gap(from_slot: int, to_slot: int) -> bool:
    """Whether one has a slot of the range, both ends inclusive."""
    return gap_life.has_open_gap(Gap, SlotRange(from_slot, to_slot))


def open_gaps(from_slot: int | None = None, to_slot: int | None = None) -> list[Gap]:
    """Open gaps with a slot of the range (or all of them), lowest first, not clipped to it."""
    return gap_life.open_gaps(Gap, gap_life.range_of(from_slot, to_slot))


def due_gaps(*, now: datetime, limit: int) -> list[Gap]:
    """Open gaps whose next try has come, newest slots first."""
    return gap_life.due_gaps(Gap, now=now, limit=limit)
