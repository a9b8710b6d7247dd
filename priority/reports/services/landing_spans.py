"""Spans of landing reports: relative ones by name, and absolute ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings

from priority.reports.store import counts
from priority.reports.store.counts import DAY, HOUR, STEP
from staff.time_ranges import BadRange, range_in

# Counts of 5 minutes are kept a little longer (priority.reports.services.counting).
STEPS_READABLE = timedelta(hours=5)


@dataclass(frozen=True, slots=True)
class Span:
    """How far back: `steps` times `step_seconds`, read from counts of `seconds`. An absolute one
    begins at `start`.
    """

    name: str
    label: str
    each: str
    step_seconds: int
    steps: int
    seconds: int
    start: datetime | None = None

    @property
    def step(self) -> timedelta:
        return timedelta(seconds=self.step_seconds)

    def bounds(self, now: datetime) -> tuple[datetime, datetime]:
        """Start (inclusive) and end (exclusive)."""
        length = self.steps * self.step
        if self.start is not None:
            return self.start, self.start + length
        end = counts.floor(now, self.step_seconds) + self.step
        return end - length, end

    @property
    def phrase(self) -> str:
        return f"the last {self.label}" if self.start is None else self.label

    def before(self, now: datetime) -> "Span":
        """The period of the same length that ends where this one begins."""
        start = self.bounds(now)[0] - self.steps * self.step
        return replace(self, name=RANGE, label="the previous period", start=start)


RANGE = ""  # the name of absolute spans
SPANS = (
    Span("1h", "1 hour", "5 minutes", STEP, 12, STEP),
    Span("24h", "24 hours", "hour", HOUR, 24, HOUR),
    Span("7d", "7 days", "6 hours", 6 * HOUR, 28, HOUR),
    Span("30d", "30 days", "day", DAY, 30, DAY),
)


def span_named(name: str | None) -> Span:
    """The span of that name, 24 hours where there is none."""
    return next((span for span in SPANS if span.name == name), SPANS[1])


def absolute(start: datetime, end: datetime, *, now: datetime) -> Span:
    """The span from start to end: in steps of 5 minutes where it is short and they are still kept,
    else of hours, 6 hours, or whole days.
    """
    length = end - start
    hours_kept = now - timedelta(days=settings.SUBMISSION_DAYS)
    if length <= 2 * timedelta(hours=1) and start >= now - STEPS_READABLE:
        each, step, seconds = "5 minutes", STEP, STEP
    elif length <= timedelta(days=2) and start >= hours_kept:
        each, step, seconds = "hour", HOUR, HOUR
    elif length <= timedelta(days=8) and start >= hours_kept:
        each, step, seconds = "6 hours", 6 * HOUR, HOUR
    else:
        each, step, seconds = "day", DAY, DAY
    start = counts.floor(start, step)
    steps = max(1, -((start - end) // timedelta(seconds=step)))
    last = start + timedelta(seconds=steps * step)
    return Span(
        RANGE, f"{start:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}", each, step, steps, seconds, start
    )


def span_or_why(query: Mapping[str, str], *, now: datetime) -> tuple[Span, str]:
    """The span of a URL: absolute by `from` and `to`, else that of its name. For a range that
    cannot be shown, the default one and the reason.
    """
    try:
        found = range_in(query, now=now)
    except BadRange as error:
        return span_named(None), str(error)
    return (span_named(query.get("span")) if found is None else absolute(*found, now=now)), ""
