"""Filters of the list of submissions to which the page of landing leads."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from access.admin.newest import NewestFilter
from access.models import ApiKey, Customer, Tier
from priority.models import Attempt, Submission, Upstream

_SPANS = {"1h": 1, "24h": 24, "7d": 7 * 24, "30d": 30 * 24}
# Each of them is looked for among the tries.
_NEWEST_TRIED = 20_000


class KindFilter(NewestFilter):
    title = "kind"
    field = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, str(label)) for value, label in Submission.Kind.choices]


class TierFilter(NewestFilter):
    title = "tier"
    field = parameter_name = "tier"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in Tier.objects.values_list("name", flat=True)]


class SinceFilter(admin.SimpleListFilter):
    title = "accepted"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("1h", "in the last hour"),
            ("24h", "in the last 24 hours"),
            ("7d", "in the last 7 days"),
            ("30d", "in the last 30 days"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        hours = _SPANS.get(self.value() or "")
        if hours is None:
            return queryset
        return queryset.filter(accepted_at__gte=timezone.now() - timedelta(hours=hours))


class UpstreamFilter(admin.SimpleListFilter):
    """Those that an upstream took, of the newest ones."""

    title = "taken by"
    parameter_name = "upstream"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = set(Upstream.objects.values_list("name", flat=True))
        names.add(request.GET.get("upstream") or "leaders")
        return [(name, name) for name in sorted(names)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        taken = Attempt.objects.filter(
            submission=OuterRef("pk"), upstream=self.value(), outcome=Attempt.Outcome.SENT
        )
        newest = Submission.objects.aggregate(newest=Max("pk"))["newest"] or 0
        return queryset.filter(Exists(taken), pk__gt=newest - _NEWEST_TRIED)


def _chosen(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


class KeyFilter(admin.SimpleListFilter):
    """One key's submissions: its page leads here."""

    title = "key"
    parameter_name = "key"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = _chosen(request, "key")
        if chosen is None:
            return []
        key = ApiKey.objects.filter(pk=chosen).first()
        return [(str(chosen), f"deleted key {chosen}" if key is None else str(key))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(key=self.value())


class CustomerFilter(NewestFilter):
    """One customer's submissions, of the newest ones of all."""

    title = "customer"
    parameter_name = "customer"
    field = "key__in"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = _chosen(request, "customer")
        customer = None if chosen is None else Customer.objects.filter(pk=chosen).first()
        return [] if customer is None else [(str(customer.pk), customer.name)]

    def value(self) -> Any:
        chosen = super().value()
        if chosen is None:
            return None
        return list(ApiKey.objects.filter(customer=int(chosen)).values_list("pk", flat=True))
