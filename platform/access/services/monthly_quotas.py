"""Monthly quotas of keys: their use and their enforcement.

A key shares its month with the keys that it was rotated from and into.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from access import store, usage_queries
from access.models import ApiKey
from access.months import month_of


@dataclass(frozen=True, slots=True)
class MonthlyUsage:
    """A key's counted calls (access.counted_calls) in this calendar month (UTC) up to the last
    roll-up, with those of the keys that it was rotated from and into. `limit` None is unlimited;
    `resets_at` is the start of the next month.
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
    """The month of every key with a monthly limit that is neither revoked nor expired."""
    return usages_of(store.keys_with_monthly_limit(now), now)


def usages_of_customer(customer_id: int, now: datetime) -> list[MonthlyUsage]:
    """The month of each of the customer's keys, also of those without a limit."""
    return usages_of(store.keys_of_customer(customer_id), now)


def usage_of(key_id: int, now: datetime) -> MonthlyUsage | None:
    """The key's month; None if the key does not exist."""
    found = usages_of(store.keys_by_id([key_id]), now)
    return found[0] if found else None


def enforce(now: datetime) -> tuple[int, int]:
    """Blocks the keys whose monthly quota is reached and unblocks those whose limit was raised; the
    number of each. Called after each roll-up; every process applies it within a second.
    """
    _start, end = month_of(now)
    noted = store.keys_over_quota(end)
    spent = [each for each in usages(now) if each.limit is not None and each.used >= each.limit]
    shut = [each for each in spent if (noted.get(each.key_id) or 0) < (each.limit or 0)]
    for each in shut:
        store.set_quota_reached([each.key_id], until=each.resets_at, used=each.used)
    opened = noted.keys() - {each.key_id for each in spent}
    if opened:
        store.set_quota_reached(opened, until=None, used=None)
    return len(shut), len(opened)


def usages_of(keys: QuerySet[ApiKey], now: datetime) -> list[MonthlyUsage]:
    """The month of each of the keys."""
    start, end = month_of(now)
    found = store.monthly_limits(keys)
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
    """Each successor among the customers' keys, with the first key of its rotations."""
    before = store.predecessors(customer_ids)
    first: dict[int, int] = {}
    for pk in sorted(before):  # a predecessor is the older one
        first[pk] = first.get(before[pk], before[pk])
    return first
