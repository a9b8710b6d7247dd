"""Gaps of one area, the ledger or the archive."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.db import transaction

from chain.slot_ranges import SlotRange, runs, subtract
from gaps import life_cycle
from gaps.slot_gap import GapStatus, SlotGap

G = TypeVar("G", bound=SlotGap)


@dataclass(frozen=True, slots=True)
class AreaGaps(Generic[G]):
    """`stored` returns the area's stored slots between two slots, `first_slot` the lowest slot that
    it keeps. Ranges include both ends.
    """

    model: type[G]
    stored: Callable[[int, int], Iterable[int]]
    first_slot: Callable[[], int]
    closing_event: str

    @transaction.atomic
    def open_gap(
        self, from_slot: int, to_slot: int, *, status: GapStatus, cause: str, now: datetime
    ) -> None:
        """Opens gaps for the slots that are not stored; those already open stay open."""
        life_cycle.lock()
        from_slot = max(from_slot, self.first_slot())
        stored = runs(self.stored(from_slot, to_slot))
        for part in subtract([SlotRange(from_slot, to_slot)], stored):
            life_cycle.open_gap(self.model, part, status=status, cause=cause, now=now)

    def close_range(
        self,
        from_slot: int,
        to_slot: int,
        *,
        closed_by: str,
        now: datetime,
        event: str | None = None,
    ) -> int:
        """Closes open gaps in the range; returns how many slots it closed."""
        return life_cycle.close_range(
            self.model,
            SlotRange(from_slot, to_slot),
            closed_by=closed_by,
            now=now,
            event=event or self.closing_event,
        )

    def record_attempt(
        self, gap_id: int, *, source: str, result: str, now: datetime, next_try_at: datetime | None
    ) -> None:
        """Adds an attempt to the gap's history."""
        life_cycle.record_attempt(
            self.model, gap_id, source=source, result=result, now=now, next_try_at=next_try_at
        )

    def retry_now(self, gap_ids: Iterable[int], *, by: str, now: datetime) -> int:
        """Makes the open ones of the gaps due now, even if given up. Returns how many."""
        return life_cycle.retry_now(self.model, gap_ids, by=by, now=now)

    def give_up(self, gap_ids: Iterable[int], *, by: str, now: datetime) -> int:
        """Stops attempts on the open ones of the gaps, as staff decided. Returns how many."""
        return life_cycle.give_up_gaps(self.model, gap_ids, by=by, now=now)

    def has_open_gap(self, from_slot: int, to_slot: int) -> bool:
        """Whether an open gap has a slot of the range."""
        return life_cycle.has_open_gap(self.model, SlotRange(from_slot, to_slot))

    def open_gaps(self, from_slot: int | None = None, to_slot: int | None = None) -> list[G]:
        """Open gaps that overlap the range (without one: all), lowest first, not clipped to it."""
        return life_cycle.open_gaps(self.model, life_cycle.range_of(from_slot, to_slot))
