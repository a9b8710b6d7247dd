"""Orders over ranges of slots: taken, worked off step by step, called off."""

import logging
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from celery.exceptions import SoftTimeLimitExceeded
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import F

from chain.slot_ranges import SlotRange, runs
from chain.units import I64_MAX
from columns.questions import MOMENT, exists, microseconds
from gaps.slot_gap import GapStatus
from ingest import chain_identity
from ingest.errors import OrderRefused, WrongChain
from ingest.finding_words import FINDINGS
from ingest.models import Finding, RangeOrder
from ingest.services.order_steps import Asked, Step
from ingest.services.reingesting import reingest_step
from ingest.services.slots import open_gaps
from ingest.services.verifying import verify_step
from ingest.sources import nodes
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

Kind, State = RangeOrder.Kind, RangeOrder.State
Clock = Callable[[], datetime]

STREAM = "stream"
OPEN = (State.QUEUED, State.RUNNING)
# What a node is asked block by block takes hours beyond this; what is stored is read in minutes.
MOST_FETCHED = 10_000
MOST_READ = 432_000
# A step is over by then, or its worker is gone.
_CLAIM = timedelta(seconds=240)
_PAUSE = timedelta(seconds=20)
_MOST_TRIES = 5
_ANOTHER = "Another order over some of these slots is not done yet: wait for it, or cancel it."
# Findings that are kept; beyond them they are counted.
_MOST_FINDINGS = 1_000


def source_names() -> list[str]:
    """The nodes that may be asked."""
    return [node.name for node in nodes()]


def ask(
    kind: str,
    window: SlotRange,
    *,
    archive: bool,
    ledger: bool,
    source: str,
    asked_by: str,
    now: datetime,
    due_at: datetime | None = None,
) -> RangeOrder:
    """An order that the worker begins with soon, or from `due_at` on. Raises OrderRefused."""
    check(kind, window, archive=archive, ledger=ledger, source=source)
    try:
        with transaction.atomic():
            order: RangeOrder = RangeOrder.objects.create(
                kind=kind,
                first_slot=window.first,
                last_slot=window.last,
                archive=archive,
                ledger=ledger,
                source=source,
                asked_by=asked_by[:150],
                asked_at=now,
                next_slot=window.first,
                due_at=due_at or now,
            )
            return order
    except IntegrityError:
        raise OrderRefused(_ANOTHER) from None


def check(kind: str, window: SlotRange, *, archive: bool, ledger: bool, source: str) -> None:
    """Raises OrderRefused where such an order cannot be taken now."""
    if not 0 <= window.first <= window.last < I64_MAX:
        raise OrderRefused("The first slot must not lie above the last.")
    if not archive and not ledger:
        raise OrderRefused("Choose the archive, the ledger, or both.")
    if source not in ("", STREAM, *source_names()):
        raise OrderRefused(f"{source} is none of the nodes in FILL_RPC_URLS.")
    if kind == Kind.REINGEST and not source:
        raise OrderRefused("Choose where the slots are to be fetched from.")
    if kind == Kind.REINGEST and archive and source != STREAM:
        raise OrderRefused(
            "A node has no account writes: choose the stream's replay for the archive, or the"
            " ledger alone."
        )
    if kind == Kind.VERIFY and source == STREAM:
        raise OrderRefused("A verification asks a node, or nobody: a stream cannot be asked.")
    most = MOST_FETCHED if source else MOST_READ
    if window.size > most:
        raise OrderRefused(f"{window.size:,} slots are too many at once: at most {most:,}.")
    others = RangeOrder.objects.filter(
        state__in=OPEN, first_slot__lte=window.last, last_slot__gte=window.first
    )
    if others.exists():
        raise OrderRefused(_ANOTHER)


def cancel(order_ids: Iterable[int], *, now: datetime) -> int:
    """Those of them that are not over are called off; what is done stays. How many."""
    chosen = RangeOrder.objects.filter(pk__in=list(order_ids), state__in=OPEN)
    return chosen.update(state=State.CANCELLED, finished_at=now)


def is_due(*, now: datetime) -> bool:
    """Whether an order waits for its next steps."""
    return exists(
        f"SELECT FROM ingest_rangeorder WHERE state IN ('{State.QUEUED}', '{State.RUNNING}')"
        f" AND due_at <= {MOMENT.format('$1')}",
        parameters=(microseconds(now),),
    )


def work_off(*, now: Clock, seconds: float) -> bool:
    """Some steps of the order that is next; whether there was one. One order at a time: the
    workers have other things to do.
    """
    order = _claim(now())
    if order is None:
        return False
    until = time.monotonic() + seconds
    while _take_step(order, now) and time.monotonic() < until:
        pass
    RangeOrder.objects.filter(pk=order.pk, state=State.RUNNING, next_slot=order.next_slot).update(
        due_at=now()
    )
    return True


def work_to_the_end(order: RangeOrder, *, now: Clock, told: Callable[[RangeOrder], None]) -> None:
    """All steps of an order that nobody else is at, up to one that fails; `told` after each."""
    order.state, order.started_at = State.RUNNING, now()
    order.save(update_fields=["state", "started_at"])
    while _take_step(order, now):
        told(order)
    if order.state == State.QUEUED:
        order.state, order.finished_at = State.FAILED, now()
        order.save(update_fields=["state", "finished_at"])


def _claim(now: datetime) -> RangeOrder | None:
    with transaction.atomic():
        if RangeOrder.objects.filter(state=State.RUNNING, due_at__gt=now).exists():
            return None
        due = RangeOrder.objects.filter(state__in=OPEN, due_at__lte=now).order_by("due_at", "pk")
        order = due.select_for_update(skip_locked=True).first()
        if order is None:
            return None
        order.state, order.due_at = State.RUNNING, now + _CLAIM
        order.started_at = order.started_at or now
        order.save(update_fields=["state", "due_at", "started_at"])
        return order


def _take_step(order: RangeOrder, now: Clock) -> bool:
    """One step; whether there is another one for who took this."""
    try:
        step = _step(order, now())
    except NodeError as error:
        _put_off(order, str(error), now())
        return False
    except SoftTimeLimitExceeded:
        _put_off(order, "a step took longer than a task may", now())
        return False
    except (OperationalError, InterfaceError):
        raise  # the database went away: the order is taken up again when its claim is over
    except Exception as error:
        log.exception("%s failed", order)
        order.failure = f"{type(error).__name__}: {error}"[:500]
        _end(order, State.FAILED, now())
        return False
    if not _keep(order, step, now()):
        order.refresh_from_db()
        return False
    if order.next_slot > order.last_slot:
        _end(order, State.DONE, now())
    return bool(order.state == State.RUNNING)


def _step(order: RangeOrder, now: datetime) -> Step:
    asked = Asked(order.first_slot, order.last_slot, order.archive, order.ledger, order.source, now)
    node = _node(order.source)
    if order.kind == Kind.VERIFY:
        return verify_step(asked, order.next_slot, node)
    return reingest_step(asked, order.next_slot, node)


def _node(source: str) -> Node | None:
    if source in ("", STREAM):
        return None
    for node in nodes():
        if node.name == source:
            try:
                chain_identity.require_same(node)
            except WrongChain as error:
                raise OrderRefused(str(error)) from None
            return node
    raise OrderRefused(f"{source} is in FILL_RPC_URLS no more.")


def _keep(order: RangeOrder, step: Step, now: datetime) -> bool:
    """The step is counted; False where the order was called off, or somebody else is at it."""
    found = step.findings
    with transaction.atomic():
        mine = RangeOrder.objects.filter(
            pk=order.pk, state=State.RUNNING, next_slot=order.next_slot
        )
        kept = mine.update(
            next_slot=step.next_slot,
            sound=F("sound") + step.sound,
            stored=F("stored") + step.stored,
            changed=F("changed") + step.changed,
            findings=F("findings") + len(found),
            failure="",
            tries=0,
            due_at=now + _CLAIM,
        )
        if not kept:
            return False
        room = max(0, _MOST_FINDINGS - order.findings)
        Finding.objects.bulk_create(
            Finding(order=order, slot=each.slot, area=area, what=each.what, detail=each.detail)
            for area, each in found[:room]
        )
    order.refresh_from_db()
    return True


def _put_off(order: RangeOrder, failure: str, now: datetime) -> None:
    order.failure, order.tries, order.due_at = failure[:500], order.tries + 1, now + _PAUSE
    order.state = State.QUEUED if order.tries < _MOST_TRIES else State.FAILED
    order.finished_at = now if order.state == State.FAILED else None
    _save(order, "failure", "tries", "due_at", "state", "finished_at")


def _end(order: RangeOrder, state: str, now: datetime) -> None:
    order.state, order.finished_at = state, now
    _save(order, "state", "finished_at", "failure")


def _save(order: RangeOrder, *names: str) -> None:
    """But for an order that was called off meanwhile: that stays so."""
    values = {name: getattr(order, name) for name in names}
    RangeOrder.objects.filter(pk=order.pk, state=State.RUNNING).update(**values)


def open_gaps_of(order: RangeOrder, *, now: datetime) -> int:
    """Open gaps of the slots that the order found to be lacking; how many slots."""
    lacking = [what for what, words in FINDINGS.items() if words.lacking]
    slots = Finding.objects.filter(order=order, what__in=lacking).values_list("slot", flat=True)
    parts = runs(slots)
    for first, last in parts:
        open_gaps(first, last, status=GapStatus.MISSING, cause="verification", now=now)
    return sum(part.size for part in parts)
