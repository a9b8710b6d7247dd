"""The filters of the list of keys."""

from collections.abc import Callable
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from access.key_states import KeyState, condition
from access.models import ApiKey, Customer
from staff.filters import choice_filter, row_filter, value_filter

_STATES = {
    KeyState.ACTIVE: "active",
    KeyState.EXPIRING: "expires within 7 days",
    KeyState.SUSPENDED: "suspended",
    KeyState.EXPIRED: "expired",
    KeyState.REVOKED: "revoked",
}
_LONG_UNUSED = timedelta(days=90)


def _in_state(state: KeyState) -> Callable[[], Q]:
    return lambda: condition(state, now=timezone.now())


StateFilter = choice_filter(
    "state", "state", {str(state): (text, _in_state(state)) for state, text in _STATES.items()}
)


def _environments() -> list[tuple[str, str]]:
    named = ApiKey.objects.exclude(environment="").order_by("environment")
    return [(name, name) for name in named.values_list("environment", flat=True).distinct()[:50]]


EnvironmentFilter = value_filter("environment", "environment", _environments)


def _long_unused() -> Q:
    before = timezone.now() - _LONG_UNUSED
    return Q(last_used_at__lt=before) | Q(last_used_at__isnull=True, created_at__lt=before)


# Unused keys are a needless risk.
UseFilter = choice_filter(
    "last use",
    "use",
    {
        "day": (
            "within 24 hours",
            lambda: Q(last_used_at__gte=timezone.now() - timedelta(days=1)),
        ),
        "never": ("never used", Q(last_used_at__isnull=True)),
        "long": ("not for 90 days, or never", _long_unused),
    },
)
QuotaFilter = choice_filter(
    "this month",
    "month",
    {"spent": ("monthly calls used up", lambda: Q(quota_reached_until__gt=timezone.now()))},
)
CustomerFilter = row_filter("customer", "customer__id__exact", Customer)
