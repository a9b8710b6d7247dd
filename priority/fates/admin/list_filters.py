"""Filters of the list of submissions to which the page of landing leads."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from access.models import ApiKey, Customer, Tier
from priority.models import Attempt, CoSubmitter, Submission
from priority.submissions import State
from priority.upstreams.models import Upstream
from staff.filters import choice_filter, row_filter, value_filter

# Each of them is looked up among the attempts.
_NEWEST_TRIED = 20_000


def _by(keys: QuerySet[ApiKey]) -> Q:
    """Submitted with one of the keys, also after another one."""
    own = Q(key__in=list(keys.values_list("pk", flat=True)))
    also = CoSubmitter.objects.filter(key__in=keys)
    # Rare, and no index finds both.
    return own | Q(signature__in=also.values("name")) if also.exists() else own


def _accepted_within(span: timedelta) -> Callable[[], Q]:
    return lambda: Q(accepted_at__gte=timezone.now() - span)


def _named(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


StateFilter = value_filter("state", "state", lambda: _named(State), newest=True)
KindFilter = value_filter("kind", "kind", lambda: Submission.Kind.choices, newest=True)
TierFilter = value_filter(
    "tier", "tier", lambda: _named(Tier.objects.values_list("name", flat=True)), newest=True
)
SinceFilter = choice_filter(
    "accepted",
    "since",
    {
        "1h": ("in the last hour", _accepted_within(timedelta(hours=1))),
        "24h": ("in the last 24 hours", _accepted_within(timedelta(hours=24))),
        "7d": ("in the last 7 days", _accepted_within(timedelta(days=7))),
        "30d": ("in the last 30 days", _accepted_within(timedelta(days=30))),
    },
)
# The pages of keys and customers lead here.
KeyFilter = row_filter(
    "key",
    "key",
    ApiKey,
    condition=lambda pk: _by(ApiKey.objects.filter(pk=pk)),
    missing="deleted {}",
)
CustomerFilter = row_filter(
    "customer",
    "customer",
    Customer,
    condition=lambda pk: _by(ApiKey.objects.filter(customer=pk)),
    newest=True,
)


class UpstreamFilter(admin.SimpleListFilter):
    """Submissions that an upstream accepted, among the newest ones."""

    title = "accepted by"
    parameter_name = "upstream"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = set(Upstream.objects.values_list("name", flat=True))
        names.add(request.GET.get("upstream") or "leaders")
        return _named(sorted(names))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        taken = Attempt.objects.filter(
            submission=OuterRef("pk"), upstream=self.value(), outcome=Attempt.Outcome.SENT
        )
        newest = Submission.objects.aggregate(newest=Max("pk"))["newest"] or 0
        return queryset.filter(Exists(taken), pk__gt=newest - _NEWEST_TRIED)
