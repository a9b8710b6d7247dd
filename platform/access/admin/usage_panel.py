"""A usage report for pages: chart, bars, table, and filters."""

from dataclasses import asdict
from typing import Any, TypedDict
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from access.admin.charts import chart_of, method_bars, pushed_chart_of
from access.services import usage_reports
from access.spans import RANGE, SPANS, Span, span_or_why
from access.usage_queries import Asked
from staff.formatting import grouped
from staff.time_ranges import kept_range, picker_of

_LONGEST = 60
# Rows of methods and outcomes on a page.
_MOST_ROWS = 200


class Narrowing(TypedDict, total=False):
    """The method and outcome that the URL names."""

    method: str
    status: str


def narrowing(request: HttpRequest) -> Narrowing:
    found = Narrowing()
    for name in ("method", "status"):
        value = request.GET.get(name, "")[:_LONGEST]
        if value:
            found[name] = value
    return found


def panel(request: HttpRequest, asked: Asked) -> dict[str, Any]:
    """Context of admin/usage_panel.html."""
    found = report_of(request, asked)
    return {**found, "exports": _exports(request, asked, found["report"].span)}


def report_of(request: HttpRequest, asked: Asked) -> dict[str, Any]:
    """What a page shows of the report over the span that the URL names."""
    now = timezone.now()
    span, error = span_or_why(request.GET.dict(), now=now)
    compared = request.GET.get("compare") == "previous"
    report = usage_reports.usage_report(span, now=now, compared=compared, **asdict(asked))
    return {
        "report": report,
        "chart": chart_of(report),
        "pushed_chart": pushed_chart_of(report),
        "bars": [
            (bar, grouped(bar.counted), address(request, method=bar.method))
            for bar in method_bars(report)
        ],
        "is_empty": not any(report.counts),
        "methods": [
            (
                row.method,
                address(request, method=row.method),
                row.status,
                address(request, status=row.status),
                row.kind.value,
                grouped(row.calls),
                f"{row.milliseconds:,.2f}",
            )
            for row in report.methods[:_MOST_ROWS]
        ],
        "cut": len(report.methods) > _MOST_ROWS,
        "narrowed": [
            (name, value, address(request, **{name: None}))
            for name, value in narrowing(request).items()
        ],
        "picker": picker_of(
            request.GET.dict(),
            [(each.name, each.label) for each in SPANS],
            chosen=span.name,
            bounds=span.bounds(now),
            error=error,
        ),
    }


def busiest_keys(
    request: HttpRequest, asked: Asked, *, limit: int = 20
) -> list[usage_reports.KeyCalls]:
    """The keys with the most counted calls of those that were asked for."""
    now = timezone.now()
    return usage_reports.busiest_keys(
        span_or_why(request.GET.dict(), now=now)[0],
        now=now,
        customer_id=asked.customer_id,
        limit=limit,
        **narrowing(request),
    )


def address(request: HttpRequest, **changed: str | None) -> str:
    """This page with other values; None takes one out."""
    values = {**request.GET.dict(), **changed}
    return "?" + urlencode({name: value for name, value in values.items() if value is not None})


def _exports(request: HttpRequest, asked: Asked, span: Span) -> list[tuple[str, str, str]]:
    """(text, hint, address) of each file."""
    who = {
        "key": asked.key_id,
        "customer": asked.customer_id,
        "who": "keyless" if asked.keyless else None,
    }
    named = {name: value for name, value in who.items() if value is not None}
    shown = kept_range(request.GET.dict()) if span.name == RANGE else {"span": span.name}
    kept = {**named, **shown, **narrowing(request)}
    page = reverse("admin:access_usageminute_csv")
    each = "day" if span.is_of_days else "minute"
    files = (
        ("steps", "over time", "the chart: one line a step of time"),
        ("methods", "by method", "the table: one line a method and outcome"),
        ("rows", f"every {each}", f"one line a key, method, outcome and {each}"),
    )
    return [(text, hint, f"{page}?{urlencode({**kept, 'of': of})}") for of, text, hint in files]
