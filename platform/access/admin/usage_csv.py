"""Usage as CSV (RFC 4180), sent line by line."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.http import HttpResponse, HttpResponseBase

from access import usage_queries
from access.counted_calls import CallCounts, kind_of
from access.models import ApiKey
from access.services import usage_reports
from access.spans import Span, asked_span
from access.usage_queries import Asked
from staff.files import CSV, attachment, csv_lines
from staff.time_ranges import BadRange

FILES = ("steps", "methods", "rows")


def answer(of: str, asked: Asked, query: Mapping[str, str], *, now: datetime) -> HttpResponseBase:
    """The file of that name, one of FILES, over the range of the URL; 400 and why not, where that
    is not a range.
    """
    try:
        span = asked_span(query, now=now)
    except BadRange as error:
        return HttpResponse(f"{error}\n", status=400, content_type="text/plain; charset=utf-8")
    lines = {"steps": _steps, "methods": _methods, "rows": _rows}[of](asked, span, now)
    return attachment(_name(of, asked, span), csv_lines(lines), f"{CSV}; header=present")


def _name(of: str, asked: Asked, span: Span) -> str:
    who = "all"
    if asked.key_id is not None:
        who = f"key-{asked.key_id}"
    elif asked.customer_id is not None:
        who = f"customer-{asked.customer_id}"
    elif asked.keyless:
        who = "without-key"
    return f"usage-{who}-{span.file_name}-{of}.csv"


def _report(asked: Asked, span: Span, now: datetime) -> usage_reports.UsageReport:
    return usage_reports.usage_report(span, now=now, **asdict(asked))


def _steps(asked: Asked, span: Span, now: datetime) -> Iterable[list[Any]]:
    report = _report(asked, span, now)
    yield ["start", *CallCounts._fields]
    for step in report.steps:
        yield [_time(step.start), *step.counts]


def _methods(asked: Asked, span: Span, now: datetime) -> Iterable[list[Any]]:
    yield ["method", "outcome", "kind", "calls", "mean_ms"]
    for row in _report(asked, span, now).methods:
        yield [row.method, row.status, row.kind.value, row.calls, f"{row.milliseconds:.3f}"]


def _rows(asked: Asked, span: Span, now: datetime) -> Iterator[list[Any]]:
    named: dict[int, tuple[str, str]] = {}
    yield [
        "key_id",
        "key",
        "customer",
        "method",
        "outcome",
        "kind",
        "day" if span.is_of_days else "minute",
        "calls",
        "mean_ms",
    ]
    for found in usage_queries.single_rows(asked, span, now):
        key_id, at, method, status, calls, microseconds = found
        if key_id is not None and key_id not in named:
            # All at once: an export of all callers has most keys.
            named = {key.pk: (str(key), key.customer.name) for key in _keys(asked)}
            named.setdefault(key_id, ("deleted", ""))
        name, customer = ("without a key", "") if key_id is None else named[key_id]
        mean = microseconds / 1e3 / calls if calls else 0.0
        kind = kind_of(method, status).value
        yield [key_id, name, customer, method, status, kind, _time(at), calls, f"{mean:.3f}"]


def _keys(asked: Asked) -> Iterable[ApiKey]:
    keys = ApiKey.objects.select_related("customer").only(
        "name", "shown_prefix", "last_four", "customer__name"
    )
    if asked.key_id is not None:
        return keys.filter(pk=asked.key_id)
    return keys if asked.customer_id is None else keys.filter(customer_id=asked.customer_id)


def _time(at: Any) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}" if isinstance(at, datetime) else f"{at:%Y-%m-%d}"
