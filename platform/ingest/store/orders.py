"""Queries: orders over ranges of slots, and their findings."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet

from chain.slot_ranges import SlotRange
from columns.raw_queries import MOMENT, exists, microseconds
from ingest.models import Finding, RangeOrder

State = RangeOrder.State

OPEN = (State.QUEUED, State.RUNNING)


def has_open(window: SlotRange) -> bool:
    """True if an open order covers slots of the window."""
    return RangeOrder.objects.filter(
        state__in=OPEN, first_slot__lte=window.last, last_slot__gte=window.first
    ).exists()


def is_due(*, now: datetime) -> bool:
    """True if an open order is due."""
    return exists(
        f"SELECT FROM ingest_rangeorder WHERE state IN ('{State.QUEUED}', '{State.RUNNING}')"
        f" AND due_at <= {MOMENT.format('$1')}",
        parameters=(microseconds(now),),
    )


def ordered_among(kind: str, slots: Collection[int], *, asked_by: str) -> set[int]:
    """Those of the slots that have an order of their own of this kind, open or ended."""
    found = RangeOrder.objects.filter(kind=kind, asked_by=asked_by, first_slot__in=slots)
    return set(found.values_list("first_slot", flat=True))


def cancel(order_ids: Iterable[int], *, now: datetime) -> int:
    """Cancels the open ones; returns how many."""
    chosen = RangeOrder.objects.filter(pk__in=list(order_ids), state__in=OPEN)
    return chosen.update(state=State.CANCELLED, finished_at=now)


@transaction.atomic
def claim(*, now: datetime, until: datetime) -> RangeOrder | None:
    """The next due order, running and claimed; None while another one is claimed."""
    if RangeOrder.objects.filter(state=State.RUNNING, due_at__gt=now).exists():
        return None
    due = RangeOrder.objects.filter(state__in=OPEN, due_at__lte=now).order_by("due_at", "pk")
    order = due.select_for_update(skip_locked=True).first()
    if order is not None:
        order.state, order.due_at = State.RUNNING, until
        order.started_at = order.started_at or now
        order.save(update_fields=["state", "due_at", "started_at"])
    return order


def release(order: RangeOrder, *, now: datetime) -> None:
    """Makes the order due now, unless another worker went on with it."""
    _running_at(order).update(due_at=now)


@transaction.atomic
def save_step(
    order: RangeOrder,
    findings: Sequence[Finding],
    *,
    next_slot: int,
    sound: int,
    stored: int,
    changed: int,
    transactions: int,
    most_findings: int,
    due_at: datetime,
) -> bool:
    """Adds a step's counts and findings; the order keeps so many of these. False if the order was
    cancelled, or another worker has it.
    """
    kept = _running_at(order).update(
        next_slot=next_slot,
        sound=F("sound") + sound,
        stored=F("stored") + stored,
        changed=F("changed") + changed,
        transactions=F("transactions") + transactions,
        findings=F("findings") + len(findings),
        failure="",
        tries=0,
        due_at=due_at,
    )
    if kept:
        Finding.objects.bulk_create(findings[: max(0, most_findings - order.findings)])
    return bool(kept)


def save_running(order: RangeOrder, *names: str) -> None:
    """Saves the fields, unless the order was cancelled meanwhile."""
    values = {name: getattr(order, name) for name in names}
    RangeOrder.objects.filter(pk=order.pk, state=State.RUNNING).update(**values)


def found_slots(order: RangeOrder, kinds: Collection[str]) -> QuerySet[Finding, int]:
    """Slots of the order's findings of these kinds."""
    return Finding.objects.filter(order=order, what__in=kinds).values_list("slot", flat=True)


def _running_at(order: RangeOrder) -> QuerySet[RangeOrder]:
    return RangeOrder.objects.filter(pk=order.pk, state=State.RUNNING, next_slot=order.next_slot)
