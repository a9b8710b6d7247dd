"""The home page as a whole: active alarms, and cards under the questions they answer."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from operations.home import calling, capacity, following, landing
from operations.home.cards import Card, Group, link_to
from operations.home.charts import line_of
from operations.models import Alarm
from operations.readings.present import Readings, present
from operations.rules import BY_NAME, CLOCK_PATIENCE, PAGES_OF_SUBJECTS
from operations.services import alarms, series
from staff.formatting import ago, badge, duration

_Make = Callable[[HttpRequest, Readings], Card]

# Question → its cards, each with the permission that it takes; empty: every staff user.
_QUESTIONS: tuple[tuple[str, str, tuple[tuple[_Make, str], ...]], ...] = (
    (
        "following",
        "Is it following?",
        (
            (following.chain, "rewind.view_gap"),
            (following.gaps, "rewind.view_gap"),
            (following.ledger, "historical.view_block"),
            (following.imports, "historical.view_import"),
        ),
    ),
    (
        "landing",
        "Is it landing?",
        (
            (landing.rate, "priority.view_submission"),
            (landing.latency, "priority.view_upstream"),
            (landing.landers, "priority.view_upstream"),
            (landing.addresses, "tipping.view_ttlclass"),
        ),
    ),
    (
        "calling",
        "Can customers call?",
        (
            (calling.calls, "access.view_usageminute"),
            (calling.failures, "access.view_usageminute"),
            (calling.speed, "access.view_usageminute"),
            (calling.expiring, "access.view_apikey"),
        ),
    ),
    (
        "capacity",
        "Is everything running, with enough capacity?",
        (
            (capacity.processes, ""),
            (capacity.servers, ""),
            (capacity.queues, ""),
            (capacity.space, ""),
        ),
    ),
)


class ActiveAlarm(NamedTuple):
    """An open alarm as the page shows it; `link` is the page to act on it."""

    alarm: Alarm
    title: str
    advice: str
    severity: Any
    since: Any
    link: str
    page: str


def home(request: HttpRequest) -> dict[str, Any]:
    """The context of the page, and of its live part."""
    now = timezone.now()
    span = series.span_named(request.GET.get("span"))
    readings = present(now)
    groups = _groups(request, readings)
    _draw(groups, span, now)
    may_see = request.user.has_perm("operations.view_alarm")
    return {
        "groups": groups,
        "active": _active(request, now) if may_see else None,
        "alarms_link": link_to(request, "operations_alarm_changelist", "operations.view_alarm"),
        "unchecked": _unchecked(readings, now),
        "rules": len(BY_NAME),
        "span": span,
        "spans": [(each, each is span, f"?span={each.name}") for each in series.SPANS],
        "now": now,
    }


def _groups(request: HttpRequest, readings: Readings) -> list[Group]:
    may = request.user.has_perm
    groups = []
    for name, question, makers in _QUESTIONS:
        cards = [make(request, readings) for make, needed in makers if not needed or may(needed)]
        if cards:
            groups.append(Group(name, question, cards))
    return groups


def _draw(groups: list[Group], span: series.Span, now: datetime) -> None:
    """Reads all lines with one query."""
    drawn = [card for group in groups for card in group.cards if card.drawn is not None]
    found = series.lines([card.drawn.name for card in drawn if card.drawn], span, now=now)
    for card in drawn:
        if card.drawn is not None:
            card.line = line_of(card.drawn, found[card.drawn.name], span)


def _active(request: HttpRequest, now: datetime) -> list[ActiveAlarm]:
    found = []
    for alarm in alarms.open_alarms():
        rule = BY_NAME.get(alarm.name)
        hue = "bad" if alarm.severity == Alarm.Severity.CRITICAL else "warning"
        found.append(
            ActiveAlarm(
                alarm,
                alarm.name if rule is None else rule.title,
                "" if rule is None else rule.advice,
                badge(alarm.severity, hue),
                ago(alarm.began_at, now),
                page_to_act(request, alarm),
                reverse("admin:operations_alarm_change", args=[alarm.pk]),
            )
        )
    return found


def page_to_act(request: HttpRequest, alarm: Alarm) -> str:
    """The page to act on it; empty if there is none, or the user may not see it."""
    rule = BY_NAME.get(alarm.name)
    if rule is None or not rule.page:
        return ""
    page = PAGES_OF_SUBJECTS.get((alarm.name, alarm.subject), rule.page)
    app, _, rest = page.partition("_")
    address = link_to(request, page, f"{app}.view_{rest.removesuffix('_changelist')}")
    return f"{address}?{rule.query}" if address and rule.query else address


def _unchecked(readings: Readings, now: datetime) -> str:
    """A warning that the worker does not check the rules; empty while it does."""
    if readings.sampled_at is None:
        return "The rules were not checked yet: worker and beat check them once they run."
    if now - readings.sampled_at < CLOCK_PATIENCE:
        return ""
    since = duration(now - readings.sampled_at)
    return (
        f"The worker or beat has not run for {since}: web processes check the rules in their place."
        " The figures below were read just now."
    )
