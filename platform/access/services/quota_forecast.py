"""A key's month: what is used of its quota, and where the pace of the last days leads."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from access import usage_queries
from access.services import monthly_quotas

# The pace is that of these days, today among them.
PACE_DAYS = 7
# Over less there is no pace: a test of a minute would be a month of millions.
SHORTEST = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class QuotaForecast:
    """`used`, `limit` (None: unlimited) and `resets_at` as in MonthlyUsage. The pace is measured
    `since` the key was issued (`since_issue`) or a day began; None where no call was counted.
    `projected` is what will be used when the month ends, at `per_day` calls a day; `reaches_at`
    when the limit is reached, None if not in this month or if it is reached already.
    """

    used: int
    limit: int | None
    resets_at: datetime
    per_day: float
    projected: int
    reaches_at: datetime | None
    since: datetime | None = None
    since_issue: bool = False
    is_too_early: bool = False

    @property
    def is_reached(self) -> bool:
        return self.limit is not None and self.used >= self.limit

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
    first_day = today - timedelta(days=PACE_DAYS - 1)
    days = usage_queries.counted_days_of_family(key_id, first_day, today + timedelta(days=1))
    if not days:
        return QuotaForecast(month.used, month.limit, month.resets_at, 0.0, month.used, None)
    issued_at = usage_queries.first_issued_at(key_id)
    # A key that is younger than the days of the pace is measured over all of its life.
    since_issue = issued_at is not None and issued_at.astimezone(UTC).date() >= first_day
    since = datetime.combine(min(days), time(), UTC)
    if since_issue and issued_at is not None:
        since = issued_at
    if now - since < SHORTEST:
        return QuotaForecast(
            month.used,
            month.limit,
            month.resets_at,
            0.0,
            month.used,
            None,
            since,
            since_issue,
            is_too_early=True,
        )
    pace = sum(days.values()) / (now - since).total_seconds()
    projected = month.used + round(pace * (month.resets_at - now).total_seconds())
    reaches_at = None
    if month.limit is not None and month.used < month.limit <= projected:
        reaches_at = now + timedelta(seconds=(month.limit - month.used) / pace)
    return QuotaForecast(
        month.used,
        month.limit,
        month.resets_at,
        pace * 86_400,
        projected,
        reaches_at,
        since,
        since_issue,
    )
