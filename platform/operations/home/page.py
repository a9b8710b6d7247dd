"""The home page as a whole: active alarms, and cards under the questions they answer."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from operations.home import calling, following, landing, room
from operations.home.cards import Card, Group, link_to
from operations.home.charts import line_of
from operations.models import Alarm
from operations.readings.present import Readings, present
from operations.rules import BY_NAME, CLOCK_PATIENCE, PAGES_OF_SUBJECTS
from operations.services import alarms, series
from staff.formatting import ago, badge, duration

_Make = Callable[[HttpRequest, Readings], Card]

# What answers a question, each card with the permission that shows it; empty: all of the staff.
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
        "room",
        "Does everything run, and is there room?",
        (
            (room.processes, ""),
            (room.servers, ""),
            (room.queues, ""),
            (room.space, ""),
        ),
    ),
)


class Need(NamedTuple):
    """An open alarm as the page shows it; `link` is the page to act on it."""

    alarm: Alarm
    title: str
    advice: str
    word: Any
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
        "needs": _needs(request, now) if may_see else None,
        "alarms_link": link_to(request, "operations_alarm_changelist", "operations.view_alarm"),
        "unwatched": _unwatched(readings, now),
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
    """All lines by one query."""
    drawn = [card for group in groups for card in group.cards if card.drawn is not None]
    found = series.lines([card.drawn.name for card in drawn if card.drawn], span, now=now)
    for card in drawn:
        if card.drawn is not None:
            card.line = line_of(card.drawn, found[card.drawn.name], span)


def _needs(request: HttpRequest, now: datetime) -> list[Need]:
    found = []
    for alarm in alarms.open_alarms():
        rule = BY_NAME.get(alarm.name)
        hue = "bad" if alarm.severity == Alarm.Severity.CRITICAL else "warning"
        found.append(
            Need(
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
    """The page to act on it; empty where the user may not, or no page helps."""
    rule = BY_NAME.get(alarm.name)
    if rule is None or not rule.page:
        return ""
    page = PAGES_OF_SUBJECTS.get((alarm.name, alarm.subject), rule.page)
    app, _, rest = page.partition("_")
    address = link_to(request, page, f"{app}.view_{rest.removesuffix('_changelist')}")
    return f"{address}?{rule.query}" if address and rule.query else address


def _unwatched(readings: Readings, now: datetime) -> str:
    """That the worker does not look at the rules; empty while it does."""
    if readings.sampled_at is None:
        return "The rules were not checked yet: worker and beat do so, once they run."
    if now - readings.sampled_at < CLOCK_PATIENCE:
        return ""
    since = duration(now - readings.sampled_at)
    return (
        f"Neither worker nor beat has done its work for {since}: web processes check the rules in"
        " their place, and what you see here is read just now."
    )
