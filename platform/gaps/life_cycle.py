"""The life cycle of a SlotGap: opened, due, attempted, closed.

Gaps are opened and closed under one lock held until the end of the transaction, so that concurrent
callers agree on them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import transaction
from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from chain.slot_ranges import SlotRange, clip, runs, subtract
from chain.units import I64_MAX
from columns.advisory_locks import AdvisoryLock, wait_for
from columns.raw_queries import MOMENT, exists, fetch_one, microseconds
from gaps.slot_gap import GapStatus, SlotGap, is_more_specific

G = TypeVar("G", bound=SlotGap)

# The latest events of a gap to keep: a gap that cannot be filled is attempted for ever.
_KEPT_EVENTS = 50
_WRITTEN_AT_ONCE = 250
FILLED = "filled"
PROVED_SKIPPED = "proved skipped"
GIVEN_UP = "given up"
ASKED = "asked to try again"
# The author where no one of the staff decided it: every source reported that it has no such slots.
PROOF = "proof"
# Slots that are only late arrive within this time of themselves.
GRACE = timedelta(seconds=3)
# The parameters are the time, and the time before which a gap that was never attempted was opened.
_IS_DUE = (
    "closed_at IS NULL AND cannot_be_had_at IS NULL"
    " AND (next_try_at <= {0} OR next_try_at IS NULL AND opened_at <= {1})"
)


def lock() -> None:
    """Blocks other transactions from opening or closing gaps until this one ends. One lock for all
    tables: transactions that write ledger and archive could deadlock with two.
    """
    wait_for(AdvisoryLock.GAPS)


@transaction.atomic
def open_gap(
    model: type[G], slots: SlotRange, *, status: GapStatus, cause: str, now: datetime
) -> None:
    """Opens gaps for the slots. In existing open gaps `unknown` becomes `missing`, and a more
    specific cause replaces a vague one.
    """
    lock()
    touching = _open(model, SlotRange(slots.first - 1, slots.last + 1))
    for gap in touching:
        for part in clip([_range(gap)], *slots):
            _refine(gap, part, status, cause, now)
    for part in subtract([slots], map(_range, touching)):
        neighbour = next((gap for gap in touching if _continues(gap, part, status, cause)), None)
        if neighbour is None:
            model._default_manager.create(
                from_slot=part.first,
                to_slot=part.last,
                status=status,
                cause=cause,
                opened_at=now,
                history=[_event(now, "opened", result=cause)],
            )
        else:
            neighbour.from_slot = min(neighbour.from_slot, part.first)
            neighbour.to_slot = max(neighbour.to_slot, part.last)
            neighbour.save(update_fields=["from_slot", "to_slot"])


@transaction.atomic
def close_range(
    model: type[G], slots: SlotRange, *, closed_by: str, now: datetime, event: str = FILLED
) -> int:
    """Closes open gaps in the range; parts outside stay open. Returns how many slots it closed."""
    lock()
    closed = 0
    for gap in _open(model, slots):
        for part in clip([_range(gap)], *slots):
            closed += part.size
            _close(model, _carved(gap, part), closed_by, event, now)
    return closed


@transaction.atomic
def mark_missing(model: type[SlotGap], slots: SlotRange, *, now: datetime) -> None:
    """Marks open unknown gaps in the range as missing: their blocks were produced."""
    lock()
    for gap in _open(model, slots):
        for part in clip([_range(gap)], *slots):
            _refine(gap, part, GapStatus.MISSING, gap.cause, now)


@transaction.atomic
def cut_below(model: type[SlotGap], slot: int) -> None:
    """Deletes gaps below the slot, open or closed; a gap across it is cut to begin there."""
    lock()
    model._default_manager.filter(to_slot__lt=slot).delete()
    model._default_manager.filter(from_slot__lt=slot).update(from_slot=slot)


@transaction.atomic
def record_attempt(
    model: type[G],
    gap_id: int,
    *,
    source: str,
    result: str,
    now: datetime,
    next_try_at: datetime | None,
) -> None:
    """Adds an attempt to the gap's history; does nothing if it has been closed since."""
    gap = model._default_manager.select_for_update().filter(pk=gap_id).first()
    if gap is None or gap.closed_at is not None:
        return
    gap.tries += 1
    gap.next_try_at = next_try_at
    _append(gap, _event(now, "tried", source=source, result=result))
    gap.save(update_fields=["tries", "next_try_at", "history"])


@transaction.atomic
def give_up(model: type[G], slots: SlotRange, *, by: str, why: str, now: datetime) -> int:
    """Stops attempts on open gaps in the range, which no source has; they stay open. Returns how
    many slots they have.
    """
    lock()
    given_up = 0
    for gap in _open(model, slots):
        if gap.cannot_be_had_at is not None:
            continue
        for part in clip([_range(gap)], *slots):
            _give_up(_carved(gap, part), by, why, now)
            given_up += part.size
    return given_up


def _give_up(gap: SlotGap, by: str, why: str, now: datetime) -> None:
    gap.cannot_be_had_at, gap.cannot_be_had_by, gap.next_try_at = now, by, None
    _append(gap, _event(now, GIVEN_UP, source=by, result=why))
    fields = ["cannot_be_had_at", "cannot_be_had_by", "next_try_at", "history"]
    gap.save(update_fields=fields)


def open_gaps(model: type[G], slots: SlotRange | None = None) -> list[G]:
    """Open gaps that overlap the range, lowest first."""
    found = model._default_manager.filter(closed_at__isnull=True)
    if slots is not None:
        found = _overlapping(model, slots)
    return list(found.order_by("from_slot"))


def has_open_gap(model: type[SlotGap], slots: SlotRange) -> bool:
    """Whether an open gap has a slot of the range."""
    found = fetch_one(
        f"SELECT EXISTS (SELECT FROM {model._meta.db_table}"
        " WHERE closed_at IS NULL AND from_slot <= $1 AND to_slot >= $2)",
        slots.last,
        slots.first,
    )
    assert found is not None
    return bool(found[0])


def _overlapping(model: type[G], slots: SlotRange) -> Any:
    return model._default_manager.filter(
        closed_at__isnull=True, from_slot__lte=slots.last, to_slot__gte=slots.first
    )


def _open(model: type[G], slots: SlotRange) -> list[G]:
    return list(_overlapping(model, slots).order_by("from_slot").select_for_update())


def _range(gap: SlotGap) -> SlotRange:
    return SlotRange(gap.from_slot, gap.to_slot)


def _continues(gap: SlotGap, part: SlotRange, status: GapStatus, cause: str) -> bool:
    """Whether the part extends a gap without attempts, of the same status and cause."""
    touches = gap.from_slot == part.last + 1 or gap.to_slot == part.first - 1
    touches = touches and gap.cannot_be_had_at is None
    return touches and (gap.status, gap.cause, gap.tries) == (status, cause, 0)


def _refine(gap: G, part: SlotRange, status: GapStatus, cause: str, now: datetime) -> None:
    missing = GapStatus.MISSING in (gap.status, status)
    refined = cause if is_more_specific(cause, gap.cause) else gap.cause
    new = (GapStatus.MISSING if missing else GapStatus.UNKNOWN, refined)
    if new == (gap.status, gap.cause):
        return
    apart = _carved(gap, part)
    apart.status, apart.cause = new
    _append(apart, _event(now, f"{new[0]}", result=refined))
    apart.save(update_fields=["status", "cause", "history"])


def _carved(gap: G, part: SlotRange) -> G:
    """Splits the gap: returns the part as a saved row; copies of the row keep the rest."""
    rest = subtract([_range(gap)], [part])
    if rest:
        gap.from_slot, gap.to_slot = part
        gap.save(update_fields=["from_slot", "to_slot"])  # first: open gaps never overlap
    for first, last in rest:
        twin = type(gap)(
            **{
                field.attname: getattr(gap, field.attname)
                for field in gap._meta.concrete_fields
                if not field.primary_key
            }
        )
        twin.from_slot, twin.to_slot, twin.history = first, last, list(gap.history)
        twin.save(force_insert=True)
    return gap


def _close(model: type[G], gap: G, closed_by: str, event: str, now: datetime) -> None:
    # A gap that is filled in many small steps is shown as one.
    neighbour = (
        model._default_manager.filter(
            Q(to_slot=gap.from_slot - 1) | Q(from_slot=gap.to_slot + 1),
            closed_at__isnull=False,
            opened_at=gap.opened_at,
            status=gap.status,
            cause=gap.cause,
            closed_by=closed_by,
        )
        .select_for_update()
        .first()
    )
    if neighbour is not None:
        neighbour.from_slot = min(neighbour.from_slot, gap.from_slot)
        neighbour.to_slot = max(neighbour.to_slot, gap.to_slot)
        neighbour.closed_at = now
        neighbour.save(update_fields=["from_slot", "to_slot", "closed_at"])
        gap.delete()
        return
    gap.closed_at, gap.closed_by, gap.next_try_at = now, closed_by, None
    _append(gap, _event(now, event, source=closed_by))
    gap.save(update_fields=["closed_at", "closed_by", "next_try_at", "history"])


def _event(now: datetime, event: str, *, source: str = "", result: str = "") -> dict[str, str]:
    return {"at": now.isoformat(), "event": event, "source": source, "result": result}


def _append(gap: SlotGap, event: dict[str, str]) -> None:
    gap.history = [*gap.history, event][-_KEPT_EVENTS:]


def due_gaps(model: type[G], *, now: datetime) -> QuerySet[G]:
    """Open gaps whose next attempt is due, newest slots first."""
    is_due = RawSQL(_IS_DUE.format("%s", "%s"), [now, now - GRACE], BooleanField())
    return model._default_manager.filter(is_due).order_by("-from_slot")


def has_due_gap(models: Iterable[type[SlotGap]], *, now: datetime) -> bool:
    """Whether a gap of one of the models is due, in one prepared statement."""
    condition = _IS_DUE.format(MOMENT.format("$1"), MOMENT.format("$2"))
    return exists(
        *(f"SELECT FROM {model._meta.db_table} WHERE {condition}" for model in models),
        parameters=(microseconds(now), microseconds(now - GRACE)),
    )


@dataclass(frozen=True, slots=True)
class AreaGaps(Generic[G]):
    """Gaps of one area, the ledger or the archive. `stored` returns its stored slots between two
    slots, `first_slot` the lowest slot that it keeps. Ranges include both ends.
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
        lock()
        from_slot = max(from_slot, self.first_slot())
        stored = runs(self.stored(from_slot, to_slot))
        for part in subtract([SlotRange(from_slot, to_slot)], stored):
            open_gap(self.model, part, status=status, cause=cause, now=now)

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
        return close_range(
            self.model,
            SlotRange(from_slot, to_slot),
            closed_by=closed_by,
            now=now,
            event=event or self.closing_event,
        )

    @transaction.atomic
    def retry_now(self, gap_ids: Iterable[int], *, by: str, now: datetime) -> int:
        """Makes the open ones of the gaps due now, even if given up. Returns how many."""
        lock()
        chosen = self.model._default_manager.filter(pk__in=list(gap_ids), closed_at__isnull=True)
        gaps = list(chosen.select_for_update())
        for gap in gaps:
            gap.next_try_at, gap.cannot_be_had_at, gap.cannot_be_had_by = now, None, ""
            _append(gap, _event(now, ASKED, source=by))
        fields = ["next_try_at", "cannot_be_had_at", "cannot_be_had_by", "history"]
        self.model._default_manager.bulk_update(gaps, fields, batch_size=_WRITTEN_AT_ONCE)
        return len(gaps)

    @transaction.atomic
    def give_up(self, gap_ids: Iterable[int], *, by: str, now: datetime) -> int:
        """Stops attempts on the open ones of the gaps, as staff decided. Returns how many."""
        lock()
        chosen = self.model._default_manager.filter(
            pk__in=list(gap_ids), closed_at__isnull=True, cannot_be_had_at__isnull=True
        )
        gaps = list(chosen.select_for_update())
        for gap in gaps:
            _give_up(gap, by, "", now)
        return len(gaps)

    def has_open_gap(self, from_slot: int, to_slot: int) -> bool:
        """Whether an open gap has a slot of the range."""
        return has_open_gap(self.model, SlotRange(from_slot, to_slot))

    def open_gaps(self, from_slot: int | None = None, to_slot: int | None = None) -> list[G]:
        """Open gaps that overlap the range (without one: all), lowest first, not clipped to it."""
        if from_slot is None and to_slot is None:
            return open_gaps(self.model)
        last = I64_MAX if to_slot is None else to_slot
        return open_gaps(self.model, SlotRange(from_slot or 0, last))
