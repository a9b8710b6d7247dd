"""Orders on a class of tip addresses: a page that says what will happen, and the doing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from staff import audit
from staff.formatting import duration, grouped
from tipping.admin.desk import class_named, class_word, may_order
from tipping.models import TtlClass
from tipping.services import batches, desk, sweeping
from tipping.services.batches import ClassState


@dataclass(frozen=True, slots=True)
class Order:
    """One order. `meaning` says what it will do to the class, `unfit` why it cannot; `carry_out`
    gives what it did, or "" where somebody was faster.
    """

    name: str
    title: str
    done: str
    meaning: Callable[[ClassState, datetime], str]
    unfit: Callable[[ClassState, datetime], str]
    carry_out: Callable[[ClassState, datetime], str]
    in_vain: str


def _rotating(state: ClassState, now: datetime) -> str:
    window = duration(timedelta(seconds=state.ttl_class.window_seconds))
    if state.batch is None:
        return f"The oldest prepared batch opens now, for {window}."
    return (
        f"Batch {state.batch.number} closes now, and {state.left:,} of its {state.batch.size:,}"
        f" addresses are never issued; the oldest prepared batch opens, for {window}. Addresses"
        " that were issued stay good until they expire."
    )


def _cannot_rotate(state: ClassState, now: datetime) -> str:
    return "" if state.prepared else "No batch is prepared: prepare one first."


def _rotate(state: ClassState, now: datetime) -> str:
    opened = batches.rotate(state.ttl_class.pk, now=now, wait=True, force=True)
    return "a new batch is open" if opened else ""


def _preparing(state: ClassState, now: datetime) -> str:
    count = f"{state.prepared} batch{'' if state.prepared == 1 else 'es'}"
    return (
        f"The keys of {state.ttl_class.batch_size:,} more addresses are made; {count} wait to be"
        " opened by now. That takes some seconds for a large batch."
    )


def _prepare(state: ClassState, now: datetime) -> str:
    made = batches.prepare(
        state.ttl_class.pk, seed=settings.TIP_SECRET_SEED, now=now, keep=state.prepared + 1
    )
    return "one more batch is prepared" if made else ""


def _sweeping(state: ClassState, now: datetime) -> str:
    count = len(desk.batches_to_sweep(state.ttl_class, now=now))
    noun = "1 expired batch" if count == 1 else f"{count:,} expired batches"
    return (
        f"The balances of {noun} are read within seconds, and what they hold moves to the treasury,"
        " by transactions that the addresses themselves pay for. Those that expired less than"
        f" {duration(timedelta(seconds=settings.TIP_SWEEP_AFTER_SECONDS))} ago wait until then:"
        " a tip may still be on its way."
    )


def _cannot_sweep(state: ClassState, now: datetime) -> str:
    waiting = desk.batches_to_sweep(state.ttl_class, now=now)
    return "" if waiting else "Every expired batch of the class is swept."


def _sweep(state: ClassState, now: datetime) -> str:
    count = sweeping.look_again(desk.batches_to_sweep(state.ttl_class, now=now))
    return f"{count:,} {'batch is' if count == 1 else 'batches are'} looked at now" if count else ""


ORDERS = {
    order.name: order
    for order in (
        Order(
            "rotate",
            "Rotate now",
            "rotated",
            _rotating,
            _cannot_rotate,
            _rotate,
            "no batch was prepared that could be opened",
        ),
        Order(
            "prepare",
            "Prepare one more batch",
            "prepared a batch of",
            _preparing,
            lambda state, now: "",
            _prepare,
            "somebody else is at it: try again",
        ),
        Order(
            "sweep",
            "Sweep now",
            "ordered sweeps of",
            _sweeping,
            _cannot_sweep,
            _sweep,
            "nothing is left to be swept",
        ),
    )
}


def order_page(admin: Any, request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """GET says what will happen, POST does it."""
    order, ttl_class = ORDERS.get(name), class_named(pk)
    if order is None or ttl_class is None:
        raise Http404
    if not may_order(request):
        raise PermissionDenied
    now = timezone.now()
    state = next(each for each in batches.overview() if each.ttl_class.pk == pk)
    unfit = order.unfit(state, now)
    back = reverse("admin:tipping_ttlclass_changelist")
    if request.method == "POST" and not unfit:
        _carry_out(request, order, state, ttl_class, now)
        return HttpResponseRedirect(back)
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.opts,
        "title": f"{order.title}: class of {ttl_class.ttl_seconds:,} s",
        "order": order,
        "word": class_word(state),
        "state": state,
        "left": grouped(state.left),
        "meaning": order.meaning(state, now),
        "unfit": unfit,
        "back": back,
    }
    return TemplateResponse(request, "admin/tipping/ttlclass/order.html", context)


def _carry_out(
    request: HttpRequest, order: Order, state: ClassState, ttl_class: TtlClass, now: datetime
) -> None:
    with transaction.atomic():
        told = order.carry_out(state, now)
        if told:
            audit.record(request, order.done, ttl_class, text=told)
    if told:
        messages.success(request, f"Class of {ttl_class}: {told}.")
    else:
        messages.warning(request, f"Class of {ttl_class}: {order.in_vain}.")
