"""Actions on a TTL class."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from staff.actions import AdminAction
from staff.formatting import counted, duration
from tipping.models import TtlClass
from tipping.services import batches, desk, sweeping
from tipping.services.batches import ClassState


def state_of(row: TtlClass) -> ClassState:
    states = batches.overview(now=timezone.now())
    return next(each for each in states if each.ttl_class.pk == row.pk)


_LAST_PREPARED = (
    " Warning: it is the last prepared batch. Unless the worker prepares another one or you press"
    " Prepare, the class is unavailable once the batch is used up or its window ends."
)


def _rotating(row: TtlClass) -> str:
    state = state_of(row)
    window = duration(timedelta(seconds=state.ttl_class.window_seconds))
    last = _LAST_PREPARED if state.prepared == 1 else ""
    if state.batch is None:
        return f"The oldest prepared batch opens now, for {window}.{last}"
    return (
        f"Batch {state.batch.number} closes now, and {state.left:,} of its {state.batch.size:,}"
        f" addresses are never issued; the oldest prepared batch opens, for {window}. Issued"
        f" addresses stay valid until they expire.{last}"
    )


def _cannot_rotate(request: HttpRequest, row: TtlClass) -> str:
    return "" if state_of(row).prepared else "No batch is prepared: prepare one first"


def _rotate(request: HttpRequest, row: TtlClass) -> str:
    opened = batches.rotate(row.pk, now=timezone.now(), wait=True, force=True)
    return "a new batch is open" if opened else ""


def _preparing(row: TtlClass) -> str:
    state = state_of(row)
    count = counted(state.prepared, "batch", "batches")
    return (
        f"Makes the keys of {state.ttl_class.batch_size:,} more addresses, which takes some seconds"
        f" for a large batch. Prepared now: {count}."
    )


def _prepare(request: HttpRequest, row: TtlClass) -> str:
    made = batches.prepare(
        row.pk, seed=settings.TIP_SECRET_SEED, now=timezone.now(), keep=state_of(row).prepared + 1
    )
    return "one more batch is prepared" if made else ""


def _sweeping(row: TtlClass) -> str:
    count = len(desk.batches_to_sweep(row, now=timezone.now()))
    after = duration(timedelta(seconds=settings.TIP_SWEEP_AFTER_SECONDS))
    return (
        f"Reads the balances of {counted(count, 'expired batch', 'expired batches')} within seconds"
        " and moves them to the treasury, in transactions that the addresses themselves pay for."
        f" Batches that expired less than {after} ago wait until then: a tip may still arrive."
    )


def _cannot_sweep(request: HttpRequest, row: TtlClass) -> str:
    waiting = desk.batches_to_sweep(row, now=timezone.now())
    return "" if waiting else "Every expired batch of the class is swept"


def _sweep(request: HttpRequest, row: TtlClass) -> str:
    count = sweeping.recheck(desk.batches_to_sweep(row, now=timezone.now()))
    return f"sweeping {counted(count, 'batch', 'batches')}" if count else ""


def _said(row: TtlClass, text: str) -> str:
    return f"Class of {row}: {text}."


ACTIONS = (
    AdminAction(
        "rotate",
        "Rotate now",
        _rotating,
        "rotated",
        _rotate,
        _cannot_rotate,
        _said,
        in_vain="no batch was prepared that could be opened",
        logs=True,
    ),
    AdminAction(
        "prepare",
        "Prepare one more batch",
        _preparing,
        "prepared a batch of",
        _prepare,
        said=_said,
        in_vain="another batch is being prepared: try again",
        logs=True,
    ),
    AdminAction(
        "sweep",
        "Sweep now",
        _sweeping,
        "ordered sweeps of",
        _sweep,
        _cannot_sweep,
        _said,
        in_vain="nothing is left to sweep",
        logs=True,
    ),
)
