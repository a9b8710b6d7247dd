"""The page of usage: all calls, a customer's, a key's, or those without a key."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from access.admin import words
from access.admin.charts import chart_of
from access.models import ApiKey, Customer, UsageMinute
from access.services import usage_reports
from staff.pages import StaffAdmin


def panel(
    request: HttpRequest,
    *,
    key_id: int | None = None,
    customer_id: int | None = None,
    keyless: bool = False,
) -> dict[str, Any]:
    """What admin/usage_panel.html shows: the report over the span that the address names."""
    span = usage_reports.span_named(request.GET.get("span"))
    report = usage_reports.usage_report(
        span, now=timezone.now(), key_id=key_id, customer_id=customer_id, keyless=keyless
    )
    others = {name: value for name, value in request.GET.items() if name != "span"}
    return {
        "report": report,
        "chart": chart_of(report),
        "calls": report.ok + report.errors,
        "ok_calls": words.grouped(report.ok),
        "error_calls": words.grouped(report.errors),
        "methods": [
            (row.method, row.status, words.grouped(row.calls), f"{row.milliseconds:,.2f}")
            for row in report.methods
        ],
        "spans": [
            (each, each is span, "?" + urlencode({**others, "span": each.name}))
            for each in usage_reports.SPANS
        ],
    }


@admin.register(UsageMinute)
class UsageAdmin(StaffAdmin):
    """Usage is counted, never written by hand; its rows are shown as sums alone."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def change_view(self, *_args: Any, **_kwargs: Any) -> HttpResponse:
        raise PermissionDenied

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        keyless = request.GET.get("who") == "keyless"
        key = _named(ApiKey, request.GET.get("key"))
        customer = _named(Customer, request.GET.get("customer"))
        if key is not None:
            subject = f"Key {key}"
        elif customer is not None:
            subject = f"All keys of {customer}"
        else:
            subject = "Callers without a key" if keyless else "All callers"
        usage = panel(
            request,
            key_id=None if key is None else key.pk,
            customer_id=None if customer is None else customer.pk,
            keyless=keyless,
        )
        busiest: list[usage_reports.KeyCalls] = []
        if key is None and not keyless:
            busiest = usage_reports.busiest_keys(
                usage["report"].span,
                now=timezone.now(),
                customer_id=None if customer is None else customer.pk,
            )
        context = {
            **self.admin_site.each_context(request),
            "title": "Usage",
            "subject": subject,
            "narrowed": key is not None or customer is not None or keyless,
            "usage": usage,
            "busiest": [
                (row.key, words.grouped(row.ok), words.grouped(row.errors)) for row in busiest
            ],
            "keyless_link": f"?{urlencode({'who': 'keyless', 'span': usage['report'].span.name})}",
            "here": reverse("admin:access_usageminute_changelist"),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/access/usageminute/usage.html", context)


def _named(model: type[Any], pk: str | None) -> Any:
    if pk is None or not pk.isascii() or not pk.isdecimal() or len(pk) > 18:
        return None
    return model.objects.filter(pk=int(pk)).first()
