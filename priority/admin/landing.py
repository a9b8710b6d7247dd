"""The landing page: submissions by state, upstream, tip and key."""

from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from access.models import ApiKey, Customer, Tier
from priority.admin import landing_charts as charts
from priority.admin.fates import HUES
from priority.models import Upstream
from priority.reports import landing
from priority.reports.landing import (
    ClassTips,
    KeyLosses,
    LandingReport,
    Narrowed,
    Percentiles,
    UpstreamFigures,
)
from priority.store.landings import MOST_OF_KEYS
from priority.submissions import State
from staff.formatting import ago, badge, grouped, milliseconds
from staff.parsing import id_in

_STATES = [state.value for state in State]
# From the bottom of a bar up.
_STACKED = ["landed", "failed", "expired", "refused", "sent", "received"]
_MEANINGS = {
    "received": "accepted; no upstream has it yet",
    "sent": "an upstream has it; not in a block yet",
    "landed": "in a block, without an error",
    "failed": "in a block, with an error",
    "expired": "sent, not in a block, and it can no longer land",
    "refused": "no upstream accepted it",
}


def landing_page(admin: Any, request: HttpRequest) -> HttpResponse:
    """The page, for users who may see submissions."""
    if not admin.has_view_permission(request):
        raise PermissionDenied
    span = landing.span_named(request.GET.get("span"))
    narrowed, chosen = _narrowed(request)
    report = landing.landing_report(span, narrowed, now=timezone.now())
    asked = {name: str(value) for name, value in request.GET.items() if value}
    context = {
        "title": "Landing",
        "span": span,
        "spans": [
            (each, each is span, "?" + urlencode({**asked, "span": each.name}))
            for each in landing.SPANS
        ],
        "filters": _filters(narrowed, asked),
        "chosen": chosen,
        "cleared": f"?span={span.name}",
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
    names = []
    if key is not None:
        names.append(f"key {key}")
    if customer is not None:
        names.append(f"all keys of {customer}")
    names += [f"tier {tier}"] * bool(tier) + [f"upstream {upstream}"] * bool(upstream)
    narrowed = Narrowed(
        key_id=None if key is None else key.pk,
        customer_id=None if customer is None else customer.pk,
        tier=tier,
        upstream=upstream,
    )
    return narrowed, ", ".join(names)


def _row(model: type[Any], pk: str | None) -> Any:
    number = id_in(pk)
    return None if number is None else model.objects.filter(pk=number).first()


def _filters(narrowed: Narrowed, asked: dict[str, str]) -> dict[str, Any]:
    return {
        "tiers": [
            (name, name == narrowed.tier) for name in Tier.objects.values_list("name", flat=True)
        ],
        "upstreams": [
            (name, name == narrowed.upstream)
            for name in Upstream.objects.values_list("name", flat=True)
        ],
        "kept": [(name, asked[name]) for name in ("span", "key", "customer") if name in asked],
    }


def _shown(report: LandingReport, narrowed: Narrowed) -> dict[str, Any]:
    chart = charts.over_time(report.steps, _STACKED, report.span) if report.steps else None
    return {
        "report": report,
        "chart": chart,
        "total": grouped(report.total),
        "rate": percent(report.rate),
        "counted": ago(report.counted_at, never="never, which the worker does"),
        "states": [
            {
                "badge": badge(state, HUES[State(state)], _MEANINGS[state]),
                "count": grouped(report.states[state]),
                "share": percent(report.states[state] / report.total if report.total else None),
                "link": list_link(report, narrowed, state=state),
            }
            for state in _STATES
        ],
        "legend": [(state, grouped(report.states[state])) for state in _STACKED],
        "byte": times(report.byte),
        "histograms": _histograms(report, narrowed),
        "upstreams": [_upstream(each) for each in report.upstreams],
        "kinds": [
            (_plural(kind), grouped(count), f"{share:.1f}%")
            for kind, count, share in charts.shares(report.kinds.most_common())
        ],
        "tips": [] if narrowed.upstream else [_tip(each) for each in report.tips],
        "tip_chart": None if narrowed.upstream else _tip_chart(report),
        "losses": [_losses(each, report) for each in report.losses],
        "refusals": [(status, grouped(calls)) for status, calls in report.refusals],
        "most_of_keys": grouped(MOST_OF_KEYS),
        "since_day": f"{report.steps[0][0]:%Y-%m-%d}" if report.steps else "",
    }


def _plural(kind: str) -> str:
    """Upstreams of the kind. A row may have a kind that only a newer release knows."""
    if not kind:
        return "deleted upstreams"
    return Upstream.Kind(kind).plural if kind in Upstream.Kind.values else kind


def list_link(report: LandingReport, narrowed: Narrowed, **more: Any) -> str:
    """The list of the submissions that a figure counts."""
    query: dict[str, Any] = {"since": report.span.name}
    if narrowed.key_id is not None:
        query["key"] = narrowed.key_id
    if narrowed.customer_id is not None:
        query["customer"] = narrowed.customer_id
    query |= {"tier": narrowed.tier} if narrowed.tier else {}
    query |= {"upstream": narrowed.upstream} if narrowed.upstream else {}
    return f"{reverse('admin:priority_submission_changelist')}?{urlencode({**query, **more})}"


def percent(share: float | None) -> str:
    """97.3%; - if unknown."""
    if share is None:
        return "-"
    shown = f"{100 * share:.1f}"
    # Only all of them is 100%.
    return "99.9%" if shown == "100.0" and share < 1 else f"{shown}%"


def times(found: Percentiles | None) -> list[tuple[str, str]]:
    """p50, p90 and p99."""
    if found is None:
        return []
    return [
        ("p50", milliseconds(found.p50 / 1e3)),
        ("p90", milliseconds(found.p90 / 1e3)),
        ("p99", milliseconds(found.p99 / 1e3)),
    ]


def _histograms(report: LandingReport, narrowed: Narrowed) -> list[dict[str, Any]]:
    all_of_them = [] if narrowed.upstream else [("All submissions", report.slots)]
    named = [(each.name, each.slots) for each in report.upstreams]
    return [
        {
            "name": name,
            "count": grouped(sum(slots.values())),
            "bars": [
                (bound, grouped(count), f"{share:.1f}%", f"{width:.1f}")
                for bound, count, share, width in charts.histogram(slots)
            ],
        }
        for name, slots in [*all_of_them, *named]
        if slots
    ]


def _upstream(each: UpstreamFigures) -> dict[str, Any]:
    attempts = sum(each.tries.values())
    return {
        "name": each.name,
        "link": f"{reverse('admin:priority_upstream_changelist')}?q={each.name}",
        "took": grouped(sum(each.took.values())),
        "first": grouped(each.first),
        "rate": percent(each.rate),
        "attempts": grouped(attempts),
        "refused": grouped(each.tries["refused"]),
        "failed": grouped(each.tries["failed"]),
        "byte": "-" if each.byte is None else milliseconds(each.byte.p50 / 1e3),
        "p50": "-" if each.answer is None else milliseconds(each.answer.p50 / 1e3),
        "p90": "-" if each.answer is None else milliseconds(each.answer.p90 / 1e3),
        "answers": [
            (outcome, answer, grouped(count))
            for (outcome, answer), count in each.answers.most_common()
        ],
    }


def class_name(name: str) -> str:
    """The name of a class of addresses."""
    return "static addresses" if name == "static" else f"class {int(name):,} s"


def _tip(each: ClassTips) -> tuple[str, str, str, str]:
    return (
        class_name(each.name),
        grouped(each.count),
        grouped(each.lamports),
        # It is known to 5 %.
        grouped(int(float(f"{each.median:.2g}"))),
    )


def _tip_chart(report: LandingReport) -> dict[str, Any] | None:
    names = [each.name for each in report.tips if each.over_time]
    if not names or not report.steps:
        return None
    colours = {name: f"c{number % 6}" for number, name in enumerate(names)}
    steps = [
        (start, {colours[each.name]: each.over_time[start] for each in report.tips})
        for start, _ in report.steps
    ]
    labels = {colour: f"to {class_name(name)}" for name, colour in colours.items()}
    chart = charts.over_time(steps, list(labels), report.span, label=lambda name: labels[name])
    return {"chart": chart, "legend": [(colours[name], class_name(name)) for name in names]}


def _losses(each: KeyLosses, report: LandingReport) -> dict[str, Any]:
    query = {"span": report.span.name, "key": each.key_id}
    return {
        "key": each.key,
        "key_id": each.key_id,
        "link": f"?{urlencode(query)}" if each.key is not None else "",
        "total": grouped(each.total),
        "lost": grouped(each.lost),
        "refused": grouped(each.refused),
        "reasons": [
            (
                badge(reason.state, HUES[State(reason.state)]),
                reason.reason or "no reason given",
                grouped(reason.count),
            )
            for reason in each.reasons[:4]
        ],
        "statuses": [(status, grouped(calls)) for status, calls in each.refusals[:4]],
    }
