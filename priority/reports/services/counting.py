"""Counts landings: changed time steps are recounted, then their hours and days."""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction

from priority.reports.store import counts as store
from priority.reports.store.counts import DAY, HOUR, STEP, floor

# The last tries of what is settled are written a moment after it.
_CALM = timedelta(seconds=30)
# Older ones that are not settled, as in a gap that stays, move no more until they are.
_MOVING = timedelta(hours=2)
# Steps are kept for the pages' shortest span; of an older hour all twelve are counted again.
_STEPS_KEPT = timedelta(hours=6)
_DAYS_KEPT = timedelta(days=800)
# The count of an hour stays what it is once its submissions are being forgotten.
_MARGIN = timedelta(hours=2)
_AT_ONCE = 24


def count(*, kept: timedelta, now: datetime, calm: timedelta = _CALM, seconds: float = 15.0) -> int:
    """Counts the steps that changed, and those that go on changing; how many it counted. The sums
    are those of the rows (kept so long): a step is counted again, never added to. While another
    worker counts, or when the time is over, the rest is left to the next call.
    """
    until, counted, is_first = time.monotonic() + seconds, 0, True
    while is_first or time.monotonic() < until:
        with transaction.atomic():
            if not store.alone():
                return counted
            found = store.take_changes(noted_before=now - calm, most=_AT_ONCE)
            if not found and not is_first:
                break
            steps = {*found}
            if is_first:
                this = floor(now, STEP)
                steps |= {
                    *store.unsettled_steps(since=now - _MOVING),
                    this,
                    this - timedelta(seconds=STEP),
                }
            counted += _count(steps, kept=kept, now=now)
        is_first = False
    return counted


def _count(steps: Iterable[datetime], *, kept: timedelta, now: datetime) -> int:
    earliest, steps_kept = floor(now - kept, HOUR) + _MARGIN, floor(now - _STEPS_KEPT, HOUR)
    wanted: set[datetime] = set()
    for step in steps:
        hour = floor(step, HOUR)
        if hour >= earliest:
            wanted |= {step} if hour >= steps_kept else set(_steps_of(hour))
    hours = {floor(step, HOUR) for step in wanted}
    store.count_steps(sorted(wanted))
    store.sum_up(hours, seconds=HOUR, of=STEP)
    store.sum_up({floor(hour, DAY) for hour in hours}, seconds=DAY, of=HOUR)
    store.forget_before(steps_kept, seconds=STEP)
    # A day is summed again as long as an hour of it may be.
    store.forget_before(floor(now - kept, DAY) - timedelta(days=1), seconds=HOUR)
    store.forget_before(now - _DAYS_KEPT, seconds=DAY)
    store.set_clock(now)
    return len(wanted)


def _steps_of(hour: datetime) -> list[datetime]:
    return [hour + timedelta(seconds=STEP * number) for number in range(HOUR // STEP)]
