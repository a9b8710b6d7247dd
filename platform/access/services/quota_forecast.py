"""A key's month: what is used of its quota, and where the pace of the last days leads."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from access import usage_queries
from access.services import monthly_quotas

# The pace is that of these days, today among them.
PACE_DAYS = 7
# Of the first calls of a key no pace can be said yet.
_SHORTEST = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class QuotaForecast:
    """`used`, `limit` (None: unlimited) and `resets_at` as in MonthlyUsage. `projected` is what
    will be used when the month ends, at `per_day` calls a day; `reaches_at` when the limit is
    reached, None if not in this month or if it is reached already.
    """

    used: int
    limit: int | None
    resets_at: datetime
    per_day: float
    projected: int
    reaches_at: datetime | None

    @property
    def is_reached(self) -> bool:
        return self.limit is not None and self.used >= self.limit

    @property
    def is_exceeded(self) -> bool:
        """Whether the limit is reached before the month ends."""
        return self.limit is not None and self.projected >= self.limit

    @property
    def percent(self) -> int:
        """Used of the limit; 0 without one."""
        return 100 * self.used // self.limit if self.limit else 0

    @property
    def projected_percent(self) -> int:
        return 100 * self.projected // self.limit if self.limit else 0


def forecast(key_id: int, now: datetime) -> QuotaForecast | None:
    """None if the key does not exist."""
    month = monthly_quotas.usage_of(key_id, now)
    if month is None:
        return None
    today = now.astimezone(UTC).date()
    days = usage_queries.counted_days_of_family(
        key_id, today - timedelta(days=PACE_DAYS - 1), today + timedelta(days=1)
    )
    if not days:
        return QuotaForecast(month.used, month.limit, month.resets_at, 0.0, month.used, None)
    begun = datetime.combine(min(days), time(), UTC)
    pace = sum(days.values()) / max(now - begun, _SHORTEST).total_seconds()
    projected = month.used + round(pace * (month.resets_at - now).total_seconds())
    reaches_at = None
    if month.limit is not None and month.used < month.limit <= projected:
        reaches_at = now + timedelta(seconds=(month.limit - month.used) / pace)
    return QuotaForecast(
        month.used, month.limit, month.resets_at, pace * 86_400, projected, reaches_at
    )
