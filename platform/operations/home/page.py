"""The home page as a whole: active alarms, and cards under the questions they answer."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from operations.home import calling, capacity, cluster, figures, following, landing
from operations.home.cards import Card, Group, Kind, Link, link_to, list_of
from operations.home.charts import line_of
from operations.models import Alarm
from operations.readings.present import Readings, present
from operations.rules import BY_NAME, CLOCK_PATIENCE, PAGES_OF_SUBJECTS
from operations.services import alarms, series
from staff.formatting import duration

_GAPS = list_of("Gaps", "rewind", "gap")
_BLOCKS = list_of("Blocks", "historical", "block")
_IMPORTS = list_of("Imports", "historical", "import")
_COVERAGE = list_of("Coverage", "rewind", "slottally")
_LANDING = Link("Landing", "priority_landing", "priority.view_submission")
_UPSTREAMS = list_of("Upstreams", "priority", "upstream")
_CLASSES = list_of("TTL classes", "tipping", "ttlclass")
_USAGE = list_of("Usage", "access", "usageminute")
_KEYS = list_of("API keys", "access", "apikey")
_DELIVERIES = list_of("Deliveries", "alerts", "delivery")
_NONE, _READINESS = Link("", ""), Link("Readiness", "/readyz")
_SUBMISSIONS = f"Submissions in the last {landing.MINUTES} minutes"

# Question → its cards.
_QUESTIONS: tuple[tuple[str, str, tuple[Kind, ...]], ...] = (
    (
        "following",
        "Is it following?",
        (
            Kind("chain", "Chain", following.chain, _COVERAGE, figures.BEHIND, "rewind.view_gap"),
            Kind("gaps", "Gaps", following.gaps, _GAPS, figures.GAP_SLOTS),
            Kind("ledger", "Ledger", following.ledger, _BLOCKS, figures.SLOTS),
            Kind("imports", "Last imports", following.imports, _IMPORTS),
        ),
    ),
    (
        "landing",
        "Is it landing?",
        (
            Kind("submissions", _SUBMISSIONS, landing.rate, _LANDING, figures.LANDED),
            Kind("latency", "Time to land", landing.latency, _UPSTREAMS, figures.SLOTS_TO_LAND),
            Kind("landers", "Landers", landing.landers, _UPSTREAMS, figures.ACCEPTED),
            Kind("addresses", "Tip addresses", landing.addresses, _CLASSES, figures.TIPS_LEFT),
        ),
    ),
    (
        "calling",
        "Can customers call?",
        (
            Kind("calls", "Calls", calling.calls, _USAGE, figures.CALLS),
            Kind("failures", "Failures", calling.failures, _USAGE, figures.FAILED),
            Kind("speed", "Time of a call", calling.speed, _USAGE, figures.CALL_TIME),
            Kind("expiring", "Keys expiring within 7 days", calling.expiring, _KEYS),
        ),
    ),
    (
        "capacity",
        "Is everything running, with enough capacity?",
        (
            Kind("processes", "Processes", capacity.processes, _NONE),
            Kind("servers", "Servers", capacity.servers, _READINESS, figures.DATABASE_TIME),
            Kind("queues", "Queues", capacity.queues, _DELIVERIES, figures.QUEUED, ""),
            Kind("space", "Disk and memory", capacity.space, _NONE, figures.DISK),
            Kind("cluster", "Cluster", cluster.cluster, _NONE, is_there=cluster.is_there),
        ),
    ),
)


def home(request: HttpRequest) -> dict[str, Any]:
    """The context of the page, and of its live part."""
    now = timezone.now()
    span = series.span_named(request.GET.get("span"))
    readings = present(now)
    groups = _groups(request, readings)
    _draw(groups, span, now)
    may_see = request.user.has_perm("operations.view_alarm")
    opened = alarms.open_alarms() if may_see else []
    return {
        "groups": groups,
        "may_see_alarms": may_see,
        "active": [(each, BY_NAME.get(each.name), page_to_act(request, each)) for each in opened],
        "alarms_link": link_to(request, "operations_alarm_changelist", "operations.view_alarm"),
        "unchecked": _unchecked(readings, now),
        "rules": len(BY_NAME),
        "span": span,
        "spans": [(each, each is span, f"?span={each.name}") for each in series.SPANS],
        "now": now,
    }


def _groups(request: HttpRequest, readings: Readings) -> list[Group]:
    found = [
        (name, question, [_card(kind, request, readings) for kind in kinds if kind.is_for(request)])
        for name, question, kinds in _QUESTIONS
    ]
    return [Group(name, question, cards) for name, question, cards in found if cards]


def _card(kind: Kind, request: HttpRequest, readings: Readings) -> Card:
    shown = kind.show(request, readings)
    link = kind.link.address(request) if kind.link.text else ""
    return Card(kind, shown, f"{link}{shown.query}" if link else "")


def _draw(groups: list[Group], span: series.Span, now: datetime) -> None:
    """Reads all lines with one query."""
    drawn = [(card, card.kind.drawn) for group in groups for card in group.cards if card.kind.drawn]
    found = series.lines([figure.name for _, figure in drawn], span, now=now)
    for card, figure in drawn:
        card.line = line_of(figure, found[figure.name], span)


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
