"""How far the submissions of some keys have come in the last day."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime

from access.spans import DEFAULT_SPAN
from priority.reports.services.landing_times import times_of
from priority.reports.store import landings


def states_of_day(keys: Collection[int], now: datetime) -> Counter[str]:
    """State → submissions, of about the last 24 hours (whole hours), as they were counted last."""
    counts: Counter[str] = Counter()
    for fact in landings.states_of_keys(times_of(DEFAULT_SPAN, now), keys, tier=""):
        counts[fact.word] += fact.count
    return counts
