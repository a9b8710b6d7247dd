"""Usage of a customer's keys: over time, by key, method and outcome, and as CSV."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone

from access import refusal_advice
from access.admin import key_panel
from access.admin import usage_csv as csv_files
from access.admin.usage_panel import address, busiest_keys, narrowing, report_of
from access.models import ApiKey
from access.usage_queries import Asked
from portal import store
from portal.models import Member
from portal.views.pages import for_members, page
from staff.formatting import grouped
from staff.parsing import id_in

_KEYS = 50


def _asked(request: HttpRequest, member: Member) -> tuple[Asked, ApiKey | None]:
    """What the URL asks for, and the key that it names. Raises Http404 for a key of others."""
    key = None
    if request.GET.get("key"):
        keys = store.keys_of(member.customer_id)
        key = get_object_or_404(keys, pk=id_in(request.GET["key"]) or 0)
    key_id = None if key is None else key.pk
    return Asked(key_id, member.customer_id, **narrowing(request)), key


@for_members
def usage(request: HttpRequest, member: Member) -> HttpResponse:
    """Charts and tables of one span."""
    asked, key = _asked(request, member)
    shown = report_of(request, asked)
    context = {
        "usage": shown,
        "key": key,
        "quota": None if key is None else key_panel.quota_bar(key, timezone.now()),
        "all_keys_link": address(request, key=None),
        "methods": [
            (*row, "" if row[2] == "ok" else refusal_advice.meaning(row[2]))
            for row in shown["methods"]
        ],
        "busiest": [
            (row.key, address(request, key=str(row.key.pk)), [grouped(each) for each in row.counts])
            for row in ([] if key else busiest_keys(request, asked, limit=_KEYS))
            if row.key is not None
        ],
        "csv_link": address(request),
    }
    return page(request, "portal/usage.html", context)


@for_members
def usage_csv(request: HttpRequest, member: Member) -> HttpResponseBase:
    """The rows of the page: by minute, or by day if the span has whole days."""
    asked, _ = _asked(request, member)
    return csv_files.answer("rows", asked, request.GET.dict(), now=timezone.now())
