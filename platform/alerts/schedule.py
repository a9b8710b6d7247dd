"""When a failed delivery is retried."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Delays after the first failure, the second, …; after the last one a delivery is given up. The
# first ones are short: later events of the subject wait behind the delivery.
DELAYS = tuple(
    timedelta(seconds=seconds)
    for seconds in (0, 5, 20, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400)
)
JITTER = 0.1
# A receiver may ask for a longer delay (Retry-After), up to this.
MOST_ASKED_FOR = timedelta(hours=6)


def next_attempt_at(failures: int, *, now: datetime, retry_after: str = "") -> datetime | None:
    """When to retry after this many failures, with jitter; None: no more."""
    if failures > len(DELAYS):
        return None
    delay = DELAYS[failures - 1] * random.uniform(1 - JITTER, 1 + JITTER)
    return now + max(delay, min(_asked_for(retry_after, now), MOST_ASKED_FOR))


def _asked_for(retry_after: str, now: datetime) -> timedelta:
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return timedelta(seconds=min(int(text[:9]), MOST_ASKED_FOR.total_seconds()))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return timedelta(0)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(moment - now, timedelta(0))
