"""The calls of keys by day, for the lines in lists of keys."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from access import usage_queries

DAYS = 14


@dataclass(frozen=True, slots=True)
class Activity:
    """(day, successful calls, refused or failed ones) of each of the last DAYS days of UTC."""

    days: list[tuple[date, int, int]]

    @property
    def calls(self) -> int:
        return sum(ok + errors for _, ok, errors in self.days)

    @property
    def errors(self) -> int:
        return sum(errors for _, _, errors in self.days)


def activity(key_ids: Collection[int], now: datetime) -> dict[int, Activity]:
    """Of every one of the keys, also of those without a call."""
    today = now.astimezone(UTC).date()
    start = today - timedelta(days=DAYS - 1)
    found = {
        (key_id, day): (ok, errors)
        for key_id, day, ok, errors in usage_queries.days_of_keys(
            key_ids, start, today + timedelta(days=1)
        )
    }
    days = [start + timedelta(days=number) for number in range(DAYS)]
    return {
        key_id: Activity([(day, *found.get((key_id, day), (0, 0))) for day in days])
        for key_id in key_ids
    }
