"""The month's calls of keys: how many there were, how many there may be, and holding to it.

A key shares its month with those that it was rotated from and into: a new secret is no new month.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from access import announcements, usage_queries
from access.models import ApiKey
from access.months import month_of


@dataclass(frozen=True, slots=True)
class MonthlyUsage:
    """A key's calls in this calendar month (UTC), as of the last minute that was rolled up: those
    that count (access.counted_calls), also of the keys that it was rotated from and into. `limit`
    None is no limit; at `resets_at` it begins anew.
    """

    key_id: int
    customer_id: int
    used: int
    limit: int | None
    resets_at: datetime

    @property
    def remaining(self) -> int | None:
        """None where there is no limit."""
        return None if self.limit is None else max(0, self.limit - self.used)


def usages(now: datetime) -> list[MonthlyUsage]:
    """The month of every key that has a monthly limit, and was not revoked and is not expired."""
    return _months(
        ApiKey.objects.filter(
            Q(calls_per_month__isnull=False) | Q(tier__calls_per_month__isnull=False),
            Q(expires_at__isnull=True) | Q(expires_at__gt=now),
            revoked_at__isnull=True,
        ),
        now,
    )


def usages_of_customer(customer_id: int, now: datetime) -> list[MonthlyUsage]:
    """The month of each of the customer's keys, also of those without a limit."""
    return _months(ApiKey.objects.filter(customer_id=customer_id), now)


def usage_of(key_id: int, now: datetime) -> MonthlyUsage | None:
    """The key's month; None where there is no such key."""
    found = _months(ApiKey.objects.filter(pk=key_id), now)
    return found[0] if found else None


def enforce(now: datetime) -> tuple[int, int]:
    """Shuts out the keys whose month is used up, and lets in those whose limit was raised; how many
    of each. To be called after each roll-up; every process knows within two seconds.
    """
    _start, end = month_of(now)
    noted = dict(ApiKey.objects.filter(quota_reached_until=end).values_list("pk", "quota_used"))
    spent = [each for each in usages(now) if each.limit is not None and each.used >= each.limit]
    shut = [each for each in spent if (noted.get(each.key_id) or 0) < (each.limit or 0)]
    for each in shut:
        ApiKey.objects.filter(pk=each.key_id).update(
            quota_reached_until=each.resets_at, quota_used=each.used
        )
    opened = noted.keys() - {each.key_id for each in spent}
    ApiKey.objects.filter(pk__in=opened).update(quota_reached_until=None, quota_used=None)
    if shut or opened:
        announcements.announce()  # an update sends no signal
    return len(shut), len(opened)


def _months(keys: QuerySet[ApiKey], now: datetime) -> list[MonthlyUsage]:
    start, end = month_of(now)
    limited = keys.annotate(limit=Coalesce(F("calls_per_month"), F("tier__calls_per_month")))
    found = list(limited.order_by("pk").values_list("pk", "customer_id", "limit"))
    first = _first_keys({row[1] for row in found})
    related = {*first, *first.values(), *(row[0] for row in found)}
    used: Counter[int] = Counter()
    for pk, calls in usage_queries.counted_by_key(list(related), start.date(), end.date()).items():
        used[first.get(pk, pk)] += calls
    return [
        MonthlyUsage(key_id, customer_id, used[first.get(key_id, key_id)], limit, end)
        for key_id, customer_id, limit in found
    ]


def _first_keys(customer_ids: set[int]) -> dict[int, int]:
    """Each successor among the customers' keys, with the key that its rotations began with."""
    rotated = ApiKey.objects.filter(customer__in=customer_ids, rotated_from__isnull=False)
    pairs = rotated.values_list("pk", "rotated_from")
    before = {pk: forerunner for pk, forerunner in pairs if forerunner is not None}
    first: dict[int, int] = {}
    for pk in sorted(before):  # a forerunner is the older one
        first[pk] = first.get(before[pk], before[pk])
    return first
