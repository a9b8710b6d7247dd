"""The page of usage: all calls, a customer's, a key's, or those without a key."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone

from access.admin import usage_csv
from access.admin.usage_panel import busiest_keys, narrowing, panel
from access.models import ApiKey, Customer, UsageMinute
from access.usage_queries import Asked
from staff.formatting import grouped
from staff.own_pages import OwnPage, PagesAdmin
from staff.parsing import id_in
from staff.read_only import OnePageAdmin
from staff.time_ranges import kept_range


def _csv(_admin: Any, request: HttpRequest) -> HttpResponseBase:
    of = request.GET.get("of", "methods")
    if of not in usage_csv.FILES:
        raise Http404
    asked = _asked(request, *_who(request))
    return usage_csv.answer(of, asked, request.GET.dict(), now=timezone.now())


@admin.register(UsageMinute)
class UsageAdmin(PagesAdmin, OnePageAdmin):
    """Usage is counted, never edited; its rows are shown as sums only."""

    own_pages = (OwnPage("csv/", "access_usageminute_csv", _csv),)

    def one_page(self, request: HttpRequest) -> HttpResponse:
        key, customer, keyless = _who(request)
        asked = _asked(request, key, customer, keyless)
        busiest = [] if key or keyless else busiest_keys(request, asked)
        here = reverse("admin:access_usageminute_changelist")
        kept = {**kept_range(request.GET.dict()), **narrowing(request)}
        context = {
            "title": "Usage",
            "key": key,
            "customer": customer,
            "keyless": keyless,
            "usage": panel(request, asked),
            "busiest": [
                (
                    row.key,
                    f"?{urlencode({'key': row.key.pk, **kept})}" if row.key else "",
                    f"?{urlencode({'customer': row.key.customer_id, **kept})}" if row.key else "",
                    [grouped(calls) for calls in row.counts],
                )
                for row in busiest
            ],
            "all_link": f"{here}?{urlencode(kept)}",
            "keyless_link": f"?{urlencode({'who': 'keyless', **kept})}",
        }
        return self.page(request, "admin/access/usageminute/usage.html", context)


def _who(request: HttpRequest) -> tuple[ApiKey | None, Customer | None, bool]:
    """Whose usage the URL asks for; a key before its customer. Raises Http404 if unknown."""
    key = _named(ApiKey, request.GET.get("key"))
    customer = None if key is not None else _named(Customer, request.GET.get("customer"))
    keyless = key is None and customer is None and request.GET.get("who") == "keyless"
    return key, customer, keyless


def _asked(
    request: HttpRequest, key: ApiKey | None, customer: Customer | None, keyless: bool
) -> Asked:
    return Asked(
        None if key is None else key.pk,
        None if customer is None else customer.pk,
        keyless,
        **narrowing(request),
    )


def _named(model: type[Any], pk: str | None) -> Any:
    if not pk:
        return None
    number = id_in(pk)
    found = None if number is None else model.objects.filter(pk=number).first()
    if found is None:
        raise Http404(f"no such {model._meta.verbose_name}")
    return found
