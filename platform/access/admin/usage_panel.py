"""A usage report for pages: chart, bars, table, and filters."""

from typing import Any, TypedDict
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from access.admin.charts import chart_of, method_bars
from access.services import usage_reports
from access.spans import SPANS, Span, span_named
from staff.formatting import grouped

_LONGEST = 60


class Narrowing(TypedDict, total=False):
    """The method and outcome that the URL names."""

    method: str
    status: str


def narrowing(request: HttpRequest) -> Narrowing:
    found = Narrowing()
    for name in ("method", "status"):
        value = request.GET.get(name, "")[:_LONGEST]
        if value and "\0" not in value:
            found[name] = value
    return found


def panel(
    request: HttpRequest,
    *,
    key_id: int | None = None,
    customer_id: int | None = None,
    keyless: bool = False,
) -> dict[str, Any]:
    """Context of admin/usage_panel.html: the report over the span that the URL names."""
    span = span_named(request.GET.get("span"))
    chosen = narrowing(request)
    report = usage_reports.usage_report(
        span,
        now=timezone.now(),
        key_id=key_id,
        customer_id=customer_id,
        keyless=keyless,
        **chosen,
    )
    return {
        "report": report,
        "chart": chart_of(report),
        "chart_label": f"Calls: {report.ok:,} ok, {report.errors:,} refused or failed",
        "bars": [
            (bar, grouped(bar.calls), _address(request, method=bar.method))
            for bar in method_bars(report)
        ],
        "calls": report.ok + report.errors,
        "ok_calls": grouped(report.ok),
        "error_calls": grouped(report.errors),
        "methods": [
            (
                row.method,
                _address(request, method=row.method),
                row.status,
                _address(request, status=row.status),
                grouped(row.calls),
                f"{row.milliseconds:,.2f}",
            )
            for row in report.methods
        ],
        "narrowed": [
            (name, value, _address(request, **{name: None})) for name, value in chosen.items()
        ],
        "spans": [
            (each, each.name == span.name, _address(request, span=each.name)) for each in SPANS
        ],
        "exports": _exports(span, chosen, key_id, customer_id, keyless),
    }


def _address(request: HttpRequest, **changed: str | None) -> str:
    """This page with other values; None takes one out."""
    values = {**request.GET.dict(), **changed}
    return "?" + urlencode({name: value for name, value in values.items() if value is not None})


def _exports(
    span: Span,
    chosen: Narrowing,
    key_id: int | None,
    customer_id: int | None,
    keyless: bool,
) -> list[tuple[str, str, str]]:
    """(text, hint, address) of each file."""
    who = {"key": key_id, "customer": customer_id, "who": "keyless" if keyless else None}
    named = {name: value for name, value in who.items() if value is not None}
    page = reverse("admin:access_usageminute_csv")
    each = "day" if span.is_of_days else "minute"
    files = (
        ("steps", "over time", "the chart: one line a step of time"),
        ("methods", "by method", "the table: one line a method and outcome"),
        ("rows", f"every {each}", f"one line a key, method, outcome and {each}"),
    )
    return [
        (text, hint, f"{page}?{urlencode({**named, 'span': span.name, **chosen, 'of': of})}")
        for of, text, hint in files
    ]
