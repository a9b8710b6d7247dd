"""The buttons that fix what an alarm is about."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest
from django.utils import timezone

from gaps.life_cycle import AreaGaps
from gaps.slot_gap import IS_STATE, GapState
from historical.coverage.services.gaps import ledger_gaps
from operations.rules.rule import Press
from priority.upstreams.admin.upstreams import ACTIONS as UPSTREAM_ACTIONS
from priority.upstreams.models import Upstream
from rewind.coverage.services.gaps import archive_gaps
from staff import audit
from staff.actions import AdminAction
from staff.formatting import counted, in_units
from tipping.admin.class_actions import ACTIONS as CLASS_ACTIONS
from tipping.models import TtlClass

# Gaps that one press retries.
_GAPS = 1_000


class Button(NamedTuple):
    """`value` is what the form sends."""

    label: str
    value: str
    effect: str = ""


@dataclass(frozen=True, slots=True)
class _Fix:
    """What a button does, for users with the permission: `run` returns what to say."""

    label: str
    permission: str
    run: Callable[[HttpRequest, str], str]
    effect: str = ""


def _done_by(action: AdminAction, row: Callable[[str], Any]) -> Callable[[HttpRequest, str], str]:
    """An action of an admin page, on the row of the alarm's subject."""

    def run(request: HttpRequest, subject: str) -> str:
        found = row(subject)
        if found is None:
            raise Http404
        if why_not := action.why_not(request, found):
            return f"{found}: {why_not}."
        result = action.run(request, found)
        if not result:
            return f"{found}: {action.in_vain}."
        audit.record(request, action.verb, found, text=result if action.logs else "")
        if callable(action.said):
            return str(action.said(found, result))
        return f"{action.said}: {found}." if action.said else f"{found}: {action.verb}."

    return run


def _retry(gaps: AreaGaps[Any], store: str) -> Callable[[HttpRequest, str], str]:
    def run(request: HttpRequest, _: str) -> str:
        wanted = gaps.model.objects.filter(IS_STATE[GapState.OPEN])
        chosen = list(wanted.order_by("from_slot").values_list("pk", flat=True)[:_GAPS])
        by = request.user.get_username()
        count = gaps.retry_now(chosen, by=by, now=timezone.now())
        if count:
            about = f"{counted(count, 'gap')} of the {store}"
            audit.record(request, "ordered a try", text=f"{about}, from home")
        return f"{counted(count, 'gap is', 'gaps are')} due: the worker retries within seconds."

    return run


def _upstream(name: str) -> Upstream | None:
    return Upstream.objects.filter(name=name).first()


def _class(name: str) -> TtlClass | None:
    return next((each for each in TtlClass.objects.all() if _class_name(each) == name), None)


def _class_name(row: TtlClass) -> str:
    return in_units(row.ttl_seconds)


_UPSTREAM = {each.name: each for each in UPSTREAM_ACTIONS}
_CLASS = {each.name: each for each in CLASS_ACTIONS}
_MAY_UPSTREAM, _MAY_CLASS = "priority.change_upstream", "tipping.change_tipbatch"
_FIXES = {
    "reset-breaker": _Fix(
        "Reset the circuit breaker",
        _MAY_UPSTREAM,
        _done_by(_UPSTREAM["reset_breaker"], _upstream),
        "It is tried again at once.",
    ),
    "enable": _Fix("Enable", _MAY_UPSTREAM, _done_by(_UPSTREAM["enable"], _upstream)),
    "prepare": _Fix(
        "Prepare a batch",
        _MAY_CLASS,
        _done_by(_CLASS["prepare"], _class),
        "Makes the addresses of one more batch.",
    ),
    "rotate": _Fix(
        "Rotate now",
        _MAY_CLASS,
        _done_by(_CLASS["rotate"], _class),
        "Closes the open batch, and opens the oldest prepared one.",
    ),
    "sweep": _Fix("Sweep now", _MAY_CLASS, _done_by(_CLASS["sweep"], _class)),
    "retry-archive": _Fix("Retry now", "rewind.change_gap", _retry(archive_gaps, "archive")),
    "retry-ledger": _Fix("Retry now", "historical.change_gap", _retry(ledger_gaps, "ledger")),
}


def buttons(request: HttpRequest, presses: Iterable[Press]) -> list[Button]:
    """Those that the user may press."""
    return [
        Button(f"{found.label}{each.behind}", f"{each.fix}:{each.whom}", found.effect)
        for each in presses
        if request.user.has_perm((found := _FIXES[each.fix]).permission)
    ]


@transaction.atomic
def fix(request: HttpRequest, value: str) -> str:
    """Does what a button stands for; what to say about it. Raises Http404 for an unknown one, and
    PermissionDenied.
    """
    which, _, whom = value.partition(":")
    found = _FIXES.get(which)
    if found is None:
        raise Http404
    if not request.user.has_perm(found.permission):
        raise PermissionDenied
    return found.run(request, whom)
