"""Gaps of the archive: slots of its range that are neither archived nor proved skipped.

Recording a slot closes what it fills and opens what its parent link shows to be lacking, so that
between the archive's ends a slot that is neither archived nor in an open gap was skipped. Whoever
closes a range by hand says that its slots were skipped.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from chain.slot_ranges import SlotRange, runs, subtract
from columns import gap_life
from columns.gaps import GapStatus
from rewind.models import Gap
from rewind.store import slots as store


@transaction.atomic
def open_gap(from_slot: int, to_slot: int, *, status: GapStatus, cause: str, now: datetime) -> None:
    """The slots but for those that are archived are open gaps; what is open already stays so."""
    gap_life.lock()
    from_slot = max(from_slot, store.first_kept_slot())
    there = runs(store.archived_between(from_slot, to_slot))
    for part in subtract([SlotRange(from_slot, to_slot)], there):
        gap_life.open_gap(Gap, part, status=status, cause=cause, now=now)


def close_range(
    from_slot: int,
    to_slot: int,
    *,
    closed_by: str,
    now: datetime,
    event: str = gap_life.PROVED_SKIPPED,
) -> int:
    """No gap has these slots any more; how many had been open."""
    return gap_life.close_range(
        Gap, SlotRange(from_slot, to_slot), closed_by=closed_by, now=now, event=event
    )


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


def open_gaps(from_slot: int | None = None, to_slot: int | None = None) -> list[Gap]:
    """Open gaps with a slot of the range (or all of them), lowest first, not clipped to it."""
    return gap_life.open_gaps(Gap, gap_life.range_of(from_slot, to_slot))


def due_gaps(*, now: datetime, limit: int) -> list[Gap]:
    """Open gaps whose next try has come, newest slots first."""
    return gap_life.due_gaps(Gap, now=now, limit=limit)
