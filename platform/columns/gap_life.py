"""A gap's life: opened, tried, closed; of any model that is a SlotGap.

Gaps open and close under one lock for the rest of the transaction, so that callers who race agree
on them.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.models import Q

from chain.slot_ranges import SlotRange, clip, subtract
from chain.units import I64_MAX
from columns.gaps import GapStatus, SlotGap, says_more
from columns.raw_queries import fetch_one

G = TypeVar("G", bound=SlotGap)

# The first half of an advisory lock's name, so that nobody else's numbers meet ours.
_LOCK = 7_303
# Events of a gap that are kept, the latest: a gap that nobody can fill is tried for ever.
_KEPT_EVENTS = 50
FILLED = "filled"
PROVED_SKIPPED = "proved skipped"
GIVEN_UP = "cannot be had"
# Who says so where no one of the staff does.
PROOF = "proof"


def lock() -> None:
    """Nobody else opens or closes a gap before the transaction ends. One lock for all tables: who
    writes the ledger and the archive in one transaction would else wait in a ring with another.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [_LOCK])


@transaction.atomic
def open_gap(
    model: type[G], slots: SlotRange, *, status: GapStatus, cause: str, now: datetime
) -> None:
    """The slots are open gaps. Where one is open already it keeps its life: `unknown` becomes
    `missing`, and a cause that says nothing gives way to one that does.
    """
    lock()
    touching = _open(model, SlotRange(slots.first - 1, slots.last + 1))
    for gap in touching:
        for part in clip([_range(gap)], *slots):
            _tell_more(gap, part, status, cause, now)
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
    """No open gap has any of the slots; what remains of one stays open. How many slots it was."""
    lock()
    closed = 0
    for gap in _open(model, slots):
        for part in clip([_range(gap)], *slots):
            closed += part.size
            _close(model, _carved(gap, part), closed_by, event, now)
    return closed


@transaction.atomic
def tell_missing(model: type[SlotGap], slots: SlotRange, *, now: datetime) -> None:
    """What is open and unknown of the slots is missing: a block was made."""
    lock()
    for gap in _open(model, slots):
        for part in clip([_range(gap)], *slots):
            _tell_more(gap, part, GapStatus.MISSING, gap.cause, now)


@transaction.atomic
def cut_below(model: type[SlotGap], slot: int) -> None:
    """Gaps below the slot are forgotten, whatever became of them; one at its edge begins there."""
    lock()
    model._default_manager.filter(to_slot__lt=slot).delete()
    model._default_manager.filter(from_slot__lt=slot).update(from_slot=slot)


@transaction.atomic
def note_try(
    model: type[G],
    gap_id: int,
    *,
    source: str,
    result: str,
    now: datetime,
    next_try_at: datetime | None,
) -> None:
    """One more try stands in the gap's history; nothing when it has been closed since."""
    gap = model._default_manager.select_for_update().filter(pk=gap_id).first()
    if gap is None or gap.closed_at is not None:
        return
    gap.tries += 1
    gap.next_try_at = next_try_at
    _remember(gap, _event(now, "tried", source=source, result=result))
    gap.save(update_fields=["tries", "next_try_at", "history"])


def try_now(model: type[G], gap_ids: Iterable[int], *, now: datetime) -> int:
    """The open ones among the gaps are due, also those that were given up; how many."""
    chosen = model._default_manager.filter(pk__in=list(gap_ids), closed_at__isnull=True)
    return chosen.update(next_try_at=now, cannot_be_had_at=None, cannot_be_had_by="")


@transaction.atomic
def give_up(model: type[G], slots: SlotRange, *, by: str, why: str, now: datetime) -> int:
    """No source has the slots: what is open of them is tried no more, and stays open. How many
    slots that were.
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


@transaction.atomic
def give_up_these(model: type[G], gap_ids: Iterable[int], *, by: str, now: datetime) -> int:
    """The open ones among the gaps are tried no more; how many."""
    lock()
    chosen = model._default_manager.filter(
        pk__in=list(gap_ids), closed_at__isnull=True, cannot_be_had_at__isnull=True
    )
    gaps = list(chosen.select_for_update())
    for gap in gaps:
        _give_up(gap, by, "", now)
    return len(gaps)


def _give_up(gap: SlotGap, by: str, why: str, now: datetime) -> None:
    gap.cannot_be_had_at, gap.cannot_be_had_by, gap.next_try_at = now, by, None
    _remember(gap, _event(now, GIVEN_UP, source=by, result=why))
    fields = ["cannot_be_had_at", "cannot_be_had_by", "next_try_at", "history"]
    gap.save(update_fields=fields)


def range_of(from_slot: int | None, to_slot: int | None) -> SlotRange | None:
    """The range from the one to the other, each open where it is None; None when both are."""
    if from_slot is None and to_slot is None:
        return None
    return SlotRange(from_slot or 0, I64_MAX if to_slot is None else to_slot)


def open_gaps(model: type[G], slots: SlotRange | None = None) -> list[G]:
    """Open gaps that have a slot of the range, lowest first."""
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


def due_gaps(model: type[G], *, now: datetime, limit: int) -> list[G]:
    """Open gaps whose next try has come, newest slots first."""
    due = model._default_manager.filter(
        Q(next_try_at__isnull=True) | Q(next_try_at__lte=now),
        closed_at__isnull=True,
        cannot_be_had_at__isnull=True,
    )
    return list(due.order_by("-from_slot")[:limit])


def _overlapping(model: type[G], slots: SlotRange) -> Any:
    return model._default_manager.filter(
        closed_at__isnull=True, from_slot__lte=slots.last, to_slot__gte=slots.first
    )


def _open(model: type[G], slots: SlotRange) -> list[G]:
    return list(_overlapping(model, slots).order_by("from_slot").select_for_update())


def _range(gap: SlotGap) -> SlotRange:
    return SlotRange(gap.from_slot, gap.to_slot)


def _continues(gap: SlotGap, part: SlotRange, status: GapStatus, cause: str) -> bool:
    """Whether the part only makes a gap longer that nobody has tried to fill yet."""
    touches = gap.from_slot == part.last + 1 or gap.to_slot == part.first - 1
    touches = touches and gap.cannot_be_had_at is None
    return touches and (gap.status, gap.cause, gap.tries) == (status, cause, 0)


def _tell_more(gap: G, part: SlotRange, status: GapStatus, cause: str, now: datetime) -> None:
    missing = GapStatus.MISSING in (gap.status, status)
    told = cause if says_more(cause, gap.cause) else gap.cause
    new = (GapStatus.MISSING if missing else GapStatus.UNKNOWN, told)
    if new == (gap.status, gap.cause):
        return
    apart = _carved(gap, part)
    apart.status, apart.cause = new
    _remember(apart, _event(now, f"{new[0]}", result=told))
    apart.save(update_fields=["status", "cause", "history"])


def _carved(gap: G, part: SlotRange) -> G:
    """The part as a row of its own, saved; the rest of the gap goes on in others like it."""
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
    # A gap that is filled in many small steps is told as one.
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
    _remember(gap, _event(now, event, source=closed_by))
    gap.save(update_fields=["closed_at", "closed_by", "next_try_at", "history"])


def _event(now: datetime, event: str, *, source: str = "", result: str = "") -> dict[str, str]:
    return {"at": now.isoformat(), "event": event, "source": source, "result": result}


def _remember(gap: SlotGap, event: dict[str, str]) -> None:
    gap.history = [*gap.history, event][-_KEPT_EVENTS:]
