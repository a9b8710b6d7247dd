"""The calls of keys by day, for the lines in lists of keys."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from access import usage_queries
from access.counted_calls import CallCounts

DAYS = 14


@dataclass(frozen=True, slots=True)
class Activity:
    """(day, calls) of each of the last DAYS days of UTC."""

    days: list[tuple[date, CallCounts]]

    @property
    def parts(self) -> list[tuple[str, int, int]]:
        """(day, counted calls, refused or failed ones) for a line in a list."""
        return [(f"{day:%Y-%m-%d}", each.counted, each.not_answered) for day, each in self.days]


def activity(key_ids: Collection[int], now: datetime) -> dict[int, Activity]:
    """Of every one of the keys, also of those without a call."""
    today = now.astimezone(UTC).date()
    start = today - timedelta(days=DAYS - 1)
    found = {
        (key_id, day): counts
        for key_id, day, counts in usage_queries.days_of_keys(
            key_ids, start, today + timedelta(days=1)
        )
    }
    days = [start + timedelta(days=number) for number in range(DAYS)]
    return {
        key_id: Activity([(day, found.get((key_id, day), CallCounts())) for day in days])
        for key_id in key_ids
    }
