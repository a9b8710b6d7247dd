"""The landing page: submissions by state, upstream, tip and key."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from access.models import ApiKey, Customer, Tier
from access.spans import RANGE, span_or_why
from priority.fates.admin.fates import HUES
from priority.fates.reasons import STATE_TEXTS
from priority.reports.admin import landing_charts as charts
from priority.reports.landing_formats import class_name
from priority.reports.services import landing
from priority.reports.services.landing import LandingReport, Narrowed
from priority.reports.services.landing_spans import SPANS, asked_span
from priority.reports.store.landings import MOST_OF_KEYS
from priority.submissions import State
from priority.upstreams.models import Upstream
from staff.charts import Chart
from staff.formatting import badge, utc
from staff.parsing import id_in
from staff.time_ranges import kept_range, picker_of

# From the bottom of a bar up.
_STACKED = ["landed", "failed", "expired", "refused", "sent", "received"]


def landing_page(admin: Any, request: HttpRequest) -> HttpResponse:
    """The report of a span, narrowed by the filters of the address."""
    now = timezone.now()
    span, error = span_or_why(request.GET.dict(), now=now, asked=asked_span)
    narrowed, chosen = _narrowed(request)
    compared = request.GET.get("compare") == "previous"
    report = landing.landing_report(span, narrowed, now=now, compared=compared)
    asked = {name: str(value) for name, value in request.GET.items() if value}
    context = {
        "title": "Landing",
        "span": span,
        "picker": picker_of(
            request.GET.dict(),
            [(each.name, each.label) for each in SPANS],
            chosen=span.name,
            bounds=span.bounds(now),
            error=error,
        ),
        "shown_range": urlencode(kept_range(request.GET.dict())),
        "narrowed": narrowed,
        "tiers": Tier.objects.values_list("name", flat=True),
        "all_upstreams": Upstream.objects.values_list("name", flat=True),
        "kept": [
            (name, asked[name])
            for name in ("span", "from", "to", "compare", "key", "customer")
            if name in asked
        ],
        "chosen": chosen,
        "cleared": "?" + urlencode(kept_range(request.GET.dict())),
        **_shown(report, narrowed),
    }
    page: HttpResponse = admin.page(request, "admin/priority/landing.html", context)
    return page


def _narrowed(request: HttpRequest) -> tuple[Narrowed, str]:
    """The filters of the URL, and their description."""
    key = _row(ApiKey, request.GET.get("key"))
    customer = None if key else _row(Customer, request.GET.get("customer"))
    tier = request.GET.get("tier", "")[:30]
    upstream = request.GET.get("upstream", "")[:40]
    described = (
        (key, f"key {key}"),
        (customer, f"all keys of {customer}"),
        (tier, f"tier {tier}"),
        (upstream, f"upstream {upstream}"),
    )
    narrowed = Narrowed(
        key_id=None if key is None else key.pk,
        customer_id=None if customer is None else customer.pk,
        tier=tier,
        upstream=upstream,
    )
    return narrowed, ", ".join(text for value, text in described if value)


def _row(model: type[Any], pk: str | None) -> Any:
    number = id_in(pk)
    return None if number is None else model.objects.filter(pk=number).first()


def _shown(report: LandingReport, narrowed: Narrowed) -> dict[str, Any]:
    return {
        "report": report,
        "hues": HUES,
        **_charts(report),
        "states": [
            {
                "badge": badge(state, HUES[state], STATE_TEXTS[state]),
                "count": report.states[state],
                "share": report.states[state] / report.total if report.total else None,
                "link": list_link(report, narrowed, state=state.value),
            }
            for state in State
        ],
        "histograms": _histograms(report, narrowed),
        "kinds": [
            (_plural(kind), count, share)
            for kind, count, share in charts.shares(report.kinds.most_common())
        ],
        "tips": [] if narrowed.upstream else report.tips,
        "tip_chart": None if narrowed.upstream else _tip_chart(report),
        "most_of_keys": MOST_OF_KEYS,
        "since_day": report.steps[0][0] if report.steps else None,
    }


def _charts(report: LandingReport) -> dict[str, Chart | None]:
    if not report.steps:
        return {"chart": None, "slots_chart": None, "byte_chart": None}
    note = ""
    if report.since is not None:
        note = f"Nothing was counted before {utc(report.since)}: the chart begins there."
    starts = [start for start, _ in report.steps]
    timed = report.timed
    return {
        "chart": charts.over_time(
            "Submissions by state",
            report.steps,
            _STACKED,
            report.span,
            before=report.before,
            note=note,
        ),
        "slots_chart": None if timed is None else charts.slots_to_land(timed, starts, report.span),
        "byte_chart": None if timed is None else charts.first_byte(timed, starts, report.span),
    }


def _plural(kind: str) -> str:
    """Upstreams of the kind. A row may have a kind that only a newer release knows."""
    if not kind:
        return "deleted upstreams"
    return Upstream.Kind(kind).plural if kind in Upstream.Kind.values else kind


def list_link(report: LandingReport, narrowed: Narrowed, **more: Any) -> str:
    """The list of the submissions that a figure counts; empty for an absolute range."""
    if report.span.name == RANGE:
        return ""  # the list has no absolute ranges
    query = {
        "since": report.span.name,
        "key": narrowed.key_id,
        "customer": narrowed.customer_id,
        "tier": narrowed.tier,
        "upstream": narrowed.upstream,
        **more,
    }
    asked = urlencode({name: value for name, value in query.items() if value})
    return f"{reverse('admin:priority_submission_changelist')}?{asked}"


def _histograms(report: LandingReport, narrowed: Narrowed) -> list[dict[str, Any]]:
    all_of_them = [] if narrowed.upstream else [("All submissions", report.slots)]
    named = [(each.name, each.slots) for each in report.upstreams]
    return [
        {"name": name, "count": sum(slots.values()), "bars": charts.histogram(slots)}
        for name, slots in [*all_of_them, *named]
        if slots
    ]


def _tip_chart(report: LandingReport) -> Chart | None:
    names = [each.name for each in report.tips if each.over_time]
    if not names or not report.steps:
        return None
    colours = {name: f"c{number % 6}" for number, name in enumerate(names)}
    steps = [
        (start, {colours[each.name]: each.over_time[start] for each in report.tips})
        for start, _ in report.steps
    ]
    labels = {colour: f"to {class_name(name)}" for name, colour in colours.items()}
    return charts.over_time(
        "Lamports of tips by class of address",
        steps,
        list(labels),
        report.span,
        label=lambda name: labels[name],
        unit="lamports",
    )
