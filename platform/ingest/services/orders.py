"""Orders over ranges of slots: created, run step by step, cancelled."""

import logging
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from celery.exceptions import SoftTimeLimitExceeded
from django.db import IntegrityError, InterfaceError, OperationalError, transaction

from chain.slot_ranges import SlotRange, runs
from chain.units import I64_MAX
from gaps.slot_gap import GapStatus
from ingest import chain_identity
from ingest.errors import ActionRefused, WrongChain
from ingest.findings import FINDINGS
from ingest.models import Finding, RangeOrder
from ingest.services.order_steps import Step, StepOptions
from ingest.services.refuted_slots import ACCOUNT, locate_step
from ingest.services.refuted_slots import open_gaps as open_refuted
from ingest.services.reingesting import reingest_step
from ingest.services.slots import open_gaps
from ingest.services.verifying import verify_step
from ingest.sources import nodes
from ingest.store import orders as store
from shared_state.outages import outage_of
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

Kind, State = RangeOrder.Kind, RangeOrder.State
Clock = Callable[[], datetime]

STREAM = "stream"
# Beyond this, fetching block by block from a node takes hours; stored slots are read in minutes.
MOST_FETCHED = 10_000
MOST_READ = 432_000
# A step has ended by then, or its worker is gone.
_CLAIM = timedelta(seconds=240)
_PAUSE = timedelta(seconds=20)
_MOST_TRIES = 5
_ANOTHER = "Another order over some of these slots is still open: wait for it, or cancel it."
# Findings that are kept; further ones are only counted.
_MOST_FINDINGS = 1_000


def source_names() -> list[str]:
    """The names of the nodes that may be a source."""
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
    """Creates an order, which the worker starts soon, or from `due_at` on. Raises ActionRefused."""
    check(kind, window, archive=archive, ledger=ledger, source=source)
    try:
        with transaction.atomic():
            order = RangeOrder(
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
            order.save(force_insert=True)
            return order
    except IntegrityError:
        raise ActionRefused(_ANOTHER) from None


def check(kind: str, window: SlotRange, *, archive: bool, ledger: bool, source: str) -> None:
    """Raises ActionRefused if such an order cannot be accepted now."""
    if not 0 <= window.first <= window.last < I64_MAX:
        raise ActionRefused("The first slot must not lie above the last.")
    if not archive and not ledger:
        raise ActionRefused("Choose the archive, the ledger, or both.")
    if source not in ("", STREAM, *source_names()):
        raise ActionRefused(f"{source} is not one of the nodes in FILL_RPC_URLS.")
    if kind == Kind.REINGEST and not source:
        raise ActionRefused("Choose the source to fetch the slots from.")
    if kind == Kind.REINGEST and archive and source != STREAM:
        raise ActionRefused(
            "A node has no account writes: choose the stream's replay for the archive, or the"
            " ledger only."
        )
    if kind == Kind.VERIFY and source == STREAM:
        raise ActionRefused(
            "A verification compares with a node, or has no source: not with a stream."
        )
    if kind == Kind.LOCATE and (ledger or not archive):
        raise ActionRefused("Only the archive's slots are refuted: leave the ledger out.")
    # Of a search only refuted slots are compared.
    most = MOST_FETCHED if source and kind != Kind.LOCATE else MOST_READ
    if window.size > most:
        raise ActionRefused(f"{window.size:,} slots are too many at once: at most {most:,}.")
    if store.has_open(window):
        raise ActionRefused(_ANOTHER)


def cancel(order_ids: Iterable[int], *, now: datetime) -> int:
    """Cancels those that are open, and returns how many; completed steps stay."""
    return store.cancel(order_ids, now=now)


def is_due(*, now: datetime) -> bool:
    """True if an order is due for its next steps."""
    return store.is_due(now=now)


def work_off(*, now: Clock, seconds: float) -> bool:
    """Runs some steps of the next order; False if none is due. Only one order runs at a time, to
    leave workers for other tasks.
    """
    moment = now()
    order = store.claim(now=moment, until=moment + _CLAIM)
    if order is None:
        return False
    until = time.monotonic() + seconds
    while _take_step(order, now) and time.monotonic() < until:
        pass
    store.release(order, now=now())
    return True


def run_to_the_end(
    order: RangeOrder, *, now: Clock, progress: Callable[[RangeOrder], None]
) -> None:
    """Runs all steps of an unclaimed order, up to one that fails; calls `progress` after each."""
    order.state, order.started_at = State.RUNNING, now()
    order.save(update_fields=["state", "started_at"])
    while _take_step(order, now):
        progress(order)
    if order.state == State.QUEUED:
        order.state, order.finished_at = State.FAILED, now()
        order.save(update_fields=["state", "finished_at"])


def _take_step(order: RangeOrder, now: Clock) -> bool:
    """Runs one step; True if the caller should run another one."""
    try:
        step = _step(order, now())
    except NodeError as error:
        _put_off(order, str(error), now())
        return False
    except SoftTimeLimitExceeded:
        _put_off(order, "a step exceeded the time limit of a task", now())
        return False
    except (OperationalError, InterfaceError):
        raise  # the database is away: the order is resumed when its claim ends
    except Exception as error:
        if outage_of(error) is not None:
            raise  # it takes no writes: the same
        log.exception("%s failed", order)
        order.failure = f"{type(error).__name__}: {error}"[:500]
        _end(order, State.FAILED, now())
        return False
    if not _keep(order, step, now()):
        return False
    if order.next_slot > order.last_slot:
        _end(order, State.DONE, now())
    return bool(order.state == State.RUNNING)


def _step(order: RangeOrder, now: datetime) -> Step:
    options = StepOptions(
        order.first_slot, order.last_slot, order.archive, order.ledger, order.source, now
    )
    node = _node(order.source)
    if order.kind == Kind.VERIFY:
        return verify_step(options, order.next_slot, node)
    if order.kind == Kind.LOCATE:
        return locate_step(options, order.next_slot, node)
    return reingest_step(options, order.next_slot, node)


def _node(source: str) -> Node | None:
    if source in ("", STREAM):
        return None
    for node in nodes():
        if node.name == source:
            try:
                chain_identity.require_same(node)
            except WrongChain as error:
                raise ActionRefused(str(error)) from None
            return node
    raise ActionRefused(f"{source} is no longer in FILL_RPC_URLS.")


def _keep(order: RangeOrder, step: Step, now: datetime) -> bool:
    """Saves the step; False if the order was cancelled, or another worker has it."""
    is_saved = store.save_step(
        order,
        [
            Finding(order=order, slot=each.slot, area=area, what=each.what, detail=each.detail)
            for area, each in step.findings
        ],
        next_slot=step.next_slot,
        sound=step.sound,
        stored=step.stored,
        changed=step.changed,
        transactions=step.transactions,
        most_findings=_MOST_FINDINGS,
        due_at=now + _CLAIM,
    )
    order.refresh_from_db()
    return is_saved


def _put_off(order: RangeOrder, failure: str, now: datetime) -> None:
    order.failure, order.tries, order.due_at = failure[:500], order.tries + 1, now + _PAUSE
    order.state = State.QUEUED if order.tries < _MOST_TRIES else State.FAILED
    order.finished_at = now if order.state == State.FAILED else None
    store.save_running(order, "failure", "tries", "due_at", "state", "finished_at")


def _end(order: RangeOrder, state: str, now: datetime) -> None:
    order.state, order.finished_at = state, now
    store.save_running(order, "state", "finished_at", "failure")


def open_gaps_of(order: RangeOrder, *, now: datetime) -> int:
    """Opens gaps of the slots that the order found missing, or refuted; returns how many slots."""
    if order.kind == Kind.LOCATE:
        named = order.found.filter(what=ACCOUNT).values_list("slot", "detail")
        return open_refuted(named, all_named=order.findings <= _MOST_FINDINGS, now=now)
    missing = [what for what, text in FINDINGS.items() if text.is_missing]
    parts = runs(store.found_slots(order, missing))
    for first, last in parts:
        open_gaps(first, last, status=GapStatus.MISSING, cause="verification", now=now)
    return sum(part.size for part in parts)
