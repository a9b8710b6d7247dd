"""The home page as a whole: active alarms, and cards under the questions they answer."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from operations.home import calling, capacity, cluster, figures, following, landing
from operations.home.cards import Card, Kind, Link, card, link_to, list_of
from operations.home.charts import line_of
from operations.home.lights import LIGHTS, Light, light
from operations.home.night_charts import charts
from operations.home.problems import problems
from operations.readings.present import Readings, present
from operations.rules.processes import CLOCK_PATIENCE, waits_for_worker
from operations.rules.rule import Area
from operations.rules.table import BY_NAME
from operations.services import series
from operations.services.findings import Found, findings
from shared_state import clock
from staff import outgoing_mail
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

# Area → its question and cards.
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
        "room",
        "Is there room?",
        (
            Kind("processes", "Processes", capacity.processes, _NONE),
            Kind("servers", "Servers", capacity.servers, _READINESS, figures.DATABASE_TIME),
            Kind("queues", "Queues", capacity.queues, _DELIVERIES, figures.QUEUED, ""),
            Kind("space", "Disk and memory", capacity.space, _NONE, figures.DISK),
            Kind("cluster", "Cluster", cluster.cluster, _NONE, is_there=cluster.is_there),
        ),
    ),
)
CARDS = {kind.id for _, _, kinds in _QUESTIONS for kind in kinds}


def home(request: HttpRequest) -> dict[str, Any]:
    """The context of the page, and of its live part."""
    now = clock.now()
    span = series.span_named(request.GET.get("span"))
    readings = present(now)
    found = findings(readings)
    may_see = request.user.has_perm("operations.view_alarm")
    groups = _groups(request, readings, found, may_see=may_see)
    _draw(groups, span, now)
    wrong, count = problems(request, readings, found) if may_see else ([], 0)
    return {
        "groups": groups,
        "may_see_alarms": may_see,
        "problems": wrong,
        "problem_count": count,
        "alarms_link": link_to(request, "operations_alarm_changelist", "operations.view_alarm"),
        "unchecked": _unchecked(readings, now),
        "rules": len(BY_NAME),
        "mails": bool(settings.STAFF_MAIL) and outgoing_mail.is_sent(),
        "span": span,
        "spans": [(each, each is span, f"?span={each.name}") for each in series.SPANS],
        "now": now,
    }


def home_charts(request: HttpRequest) -> dict[str, Any]:
    """The large charts that the user may see, as [(area, question, chart)]."""
    now = clock.now()
    span = series.span_named(request.GET.get("span"))
    areas = [Area(name) for name, _, kinds in _QUESTIONS if any(k.is_for(request) for k in kinds)]
    drawn = charts(areas, span, now=now)
    return {"charts": [(area, LIGHTS[area], chart) for area, chart in drawn.items()]}


@dataclass(slots=True)
class Group:
    """Cards that answer one question, and its light. They are folded while all is well."""

    id: str
    question: str
    light: Light
    cards: list[Card]

    @property
    def is_open(self) -> bool:
        return self.light.hue in ("warning", "bad")


def _groups(
    request: HttpRequest, readings: Readings, found: list[Found], *, may_see: bool
) -> list[Group]:
    groups = []
    for name, question, kinds in _QUESTIONS:
        cards = [card(kind, request, readings, found) for kind in kinds if kind.is_for(request)]
        if cards:
            lit = light(Area(name), readings, found, cards, may_see=may_see)
            if any(each.kind.id == "gaps" for each in cards):
                lit = replace(lit, more=following.missing(request, readings))
            groups.append(Group(name, question, lit, cards))
    return groups


def _draw(groups: list[Group], span: series.Span, now: datetime) -> None:
    """Reads all lines with one query."""
    drawn = [(card, card.kind.drawn) for group in groups for card in group.cards if card.kind.drawn]
    found = series.values([figure.name for _, figure in drawn], span, now=now)
    for each, figure in drawn:
        each.line = line_of(figure, found[figure.name], span)


def _unchecked(readings: Readings, now: datetime) -> str:
    """A warning that the worker does not check the rules; empty while it does."""
    if readings.sampled_at is None:
        return "The rules were not checked yet: worker and beat check them once they run."
    if now - readings.sampled_at < CLOCK_PATIENCE:
        return ""
    since = duration(now - readings.sampled_at)
    which = "worker" if waits_for_worker(readings) else "worker or beat"
    return (
        f"The {which} has not run for {since}: web processes check the rules in their place."
        " The figures below were read just now."
    )
