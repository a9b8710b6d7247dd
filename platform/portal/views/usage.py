"""Usage of a customer's keys: over time, by key, method and outcome, and as CSV."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from access.admin import usage_csv as csv_files
from access.admin.charts import chart_of
from access.models import ApiKey
from access.services import usage_reports
from access.spans import SPANS, Span, span_named
from access.usage_queries import Asked
from portal import refusal_advice, store
from portal.models import Member
from portal.views.pages import for_members, page
from staff.formatting import grouped
from staff.parsing import id_in

_KEYS = 50


class _Choice:
    """The filters of the URL: a span, and one key, method or outcome."""

    def __init__(self, request: HttpRequest, member: Member) -> None:
        self.span: Span = span_named(request.GET.get("span"))
        self.key = _named_key(member, request.GET.get("key"))
        self.method = request.GET.get("method") or None
        self.status = request.GET.get("status") or None
        self.customer_id = member.customer_id

    def link(self, **changes: Any) -> str:
        """The same page with other choices; None takes one away."""
        asked = {
            "span": self.span.name,
            "key": None if self.key is None else self.key.pk,
            "method": self.method,
            "status": self.status,
            **changes,
        }
        return "?" + urlencode({name: value for name, value in asked.items() if value is not None})

    def asked(self) -> Asked:
        return Asked(
            key_id=None if self.key is None else self.key.pk,
            customer_id=self.customer_id,
            method=self.method,
            status=self.status,
        )


def _named_key(member: Member, pk: str | None) -> ApiKey | None:
    if not pk:
        return None
    number = id_in(pk)
    found = store.keys_of(member.customer_id).filter(pk=number or 0).first()
    if found is None:
        raise Http404("no such key of this customer")
    return found


@for_members
def usage(request: HttpRequest, member: Member) -> HttpResponse:
    """Charts and tables of one span."""
    now, choice = timezone.now(), _Choice(request, member)
    report = usage_reports.usage_report(
        choice.span,
        now=now,
        key_id=None if choice.key is None else choice.key.pk,
        customer_id=member.customer_id,
        method=choice.method,
        status=choice.status,
    )
    busiest: list[usage_reports.KeyCalls] = []
    if choice.key is None:
        busiest = usage_reports.busiest_keys(
            choice.span,
            now=now,
            customer_id=member.customer_id,
            method=choice.method,
            status=choice.status,
            limit=_KEYS,
        )
    most = max((row.ok + row.errors for row in report.shares), default=1) or 1
    context = {
        "report": report,
        "chart": chart_of(report),
        "ok_calls": grouped(report.ok),
        "error_calls": grouped(report.errors),
        "spans": [(each, each == choice.span, choice.link(span=each.name)) for each in SPANS],
        "narrowed": _narrowed(choice),
        "shares": [
            {
                "method": row.method,
                "link": choice.link(method=row.method),
                "ok": 100 * row.ok / most,
                "errors": 100 * row.errors / most,
                "calls": grouped(row.ok + row.errors),
                "title": f"{row.ok:,} ok, {row.errors:,} refused or failed",
            }
            for row in report.shares
        ],
        "methods": [
            {
                "method": row.method,
                "method_link": choice.link(method=row.method),
                "status": row.status,
                "status_link": choice.link(status=row.status),
                "hint": "" if row.status == "ok" else refusal_advice.meaning(row.status),
                "calls": grouped(row.calls),
                "milliseconds": f"{row.milliseconds:,.2f}",
            }
            for row in report.methods
        ],
        "busiest": [
            {
                "key": row.key,
                "link": choice.link(key=row.key.pk),
                "ok": grouped(row.ok),
                "errors": grouped(row.errors),
            }
            for row in busiest
            if row.key is not None
        ],
        "csv_link": choice.link(),
    }
    return page(request, "portal/usage.html", context)


def _narrowed(choice: _Choice) -> list[tuple[str, str, str]]:
    """(filter, value, link without it)."""
    found = []
    if choice.key is not None:
        found.append(("key", str(choice.key), choice.link(key=None)))
    if choice.method is not None:
        found.append(("method", choice.method, choice.link(method=None)))
    if choice.status is not None:
        found.append(("outcome", choice.status, choice.link(status=None)))
    return found


@for_members
def usage_csv(request: HttpRequest, member: Member) -> HttpResponseBase:
    """The rows of the page: by minute, or by day if the span has whole days."""
    choice = _Choice(request, member)
    return csv_files.answer("rows", choice.asked(), choice.span, now=timezone.now())
