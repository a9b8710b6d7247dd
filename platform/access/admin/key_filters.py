"""The filters of the list of keys."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from access.key_states import KeyState, condition
from access.models import ApiKey, Customer

_STATES = {
    KeyState.ACTIVE: "active",
    KeyState.EXPIRING: "expires within 7 days",
    KeyState.SUSPENDED: "suspended",
    KeyState.EXPIRED: "expired",
    KeyState.REVOKED: "revoked",
}
_LONG_UNUSED = timedelta(days=90)


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(state), text) for state, text in _STATES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        chosen = next((state for state in KeyState if state == self.value()), None)
        if chosen is None:
            return queryset
        return queryset.filter(condition(chosen, now=timezone.now()))


class EnvironmentFilter(admin.SimpleListFilter):
    title = "environment"
    parameter_name = "environment"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        named = ApiKey.objects.exclude(environment="").order_by("environment")
        names = named.values_list("environment", flat=True).distinct()
        return [(name, name) for name in names[:50]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        chosen = self.value()
        return queryset if chosen is None else queryset.filter(environment=chosen)


class UseFilter(admin.SimpleListFilter):
    """Keys by when they were used last; those that nobody needs are a risk for nothing."""

    title = "last use"
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("day", "within 24 hours"),
            ("never", "never used"),
            ("long", "not for 90 days, or never"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        now = timezone.now()
        if self.value() == "day":
            return queryset.filter(last_used_at__gte=now - timedelta(days=1))
        if self.value() == "never":
            return queryset.filter(last_used_at__isnull=True)
        if self.value() == "long":
            before = now - _LONG_UNUSED
            never = Q(last_used_at__isnull=True, created_at__lt=before)
            return queryset.filter(Q(last_used_at__lt=before) | never)
        return queryset


class QuotaFilter(admin.SimpleListFilter):
    title = "this month"
    parameter_name = "month"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("spent", "monthly calls used up")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        if self.value() == "spent":
            return queryset.filter(quota_reached_until__gt=timezone.now())
        return queryset


class CustomerFilter(admin.SimpleListFilter):
    """The customer that a link named; who looks for another types their name into the search."""

    title = "customer"
    parameter_name = "customer__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        asked = request.GET.get(self.parameter_name)
        if asked is None:
            return []
        found = self._customer(asked)
        return [(asked, "no such customer" if found is None else found.name)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        if self.value() is None:
            return queryset
        found = self._customer(self.value() or "")
        return queryset.none() if found is None else queryset.filter(customer=found)

    def _customer(self, text: str) -> Customer | None:
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            return None
        return Customer.objects.filter(pk=int(text)).first()
