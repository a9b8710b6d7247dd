"""The time spans of reports: relative ones by name, and absolute ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.conf import settings

from access.months import month_of
from staff.time_ranges import BadRange, range_in

_ORIGIN = datetime(2000, 1, 1, tzinfo=UTC)
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A report's time span: about `steps` times `step`, the last step still running. A span of days
    has whole UTC days, so that it matches the sums of days. An absolute one begins at `start`.
    """

    name: str
    label: str
    each: str
    step: timedelta
    steps: int
    start: datetime | None = None

    @property
    def is_of_days(self) -> bool:
        return self.step * self.steps > _DAY or self.step == _DAY or self.name == MONTH

    def bounds(self, now: datetime) -> tuple[datetime, datetime]:
        """Start (inclusive) and end (exclusive)."""
        if self.start is not None:
            return self.start, self.start + self.steps * self.step
        if not self.is_of_days:
            end = _ORIGIN + (((now - _ORIGIN) // self.step) + 1) * self.step
            return end - self.steps * self.step, end
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return (
            month_of(now)
            if self.name == MONTH
            else (today + _DAY - self.steps * self.step, today + _DAY)
        )

    def begins(self, now: datetime) -> list[datetime]:
        """The start of every step that began."""
        start, end = self.bounds(now)
        count = (end - start) // self.step
        every = (start + self.step * number for number in range(count))
        return [begin for begin in every if begin <= now]

    @property
    def phrase(self) -> str:
        """The last 24 hours; this month; 2026-11-20 14:00 to 2026-11-21 02:00."""
        if self.start is not None:
            return self.label
        return self.label if self.name == MONTH else f"the last {self.label}"

    @property
    def file_name(self) -> str:
        """For names of files."""
        if self.start is None:
            return self.name
        end = self.start + self.steps * self.step
        return f"{self.start:%Y%m%dT%H%M}-{end:%Y%m%dT%H%M}"

    def before(self, now: datetime) -> "Span":
        """The period of the same number of steps that ends where this one begins."""
        start, end = self.bounds(now)
        steps = (end - start) // self.step
        begin = month_of(start - _DAY)[0] if self.name == MONTH else start - steps * self.step
        steps = (start - begin) // self.step
        return replace(self, name=RANGE, steps=steps, start=begin, label="the previous period")

    def from_first_call(self, since: datetime, now: datetime) -> "Span":
        """The same span of a service that counted its first call at `since`. If that is within it,
        it begins at that call's step, with steps as fine as those of an absolute span that is so
        long: a wide one has its bar where nothing was called.
        """
        begin, end = self.bounds(now)
        if not begin < since < end:
            return self
        young = min(end, now) - since
        finer = ((each, step) for most, each, step in _STEPS if young <= most and step < self.step)
        each, step = next(finer, (self.each, self.step))
        if step == self.step:
            return self
        start = since - (since - _ORIGIN) % step
        steps = -((start - end) // step)
        label = self.phrase
        return replace(self, label=label, each=each, step=step, steps=steps, start=start)

    def by_days(self) -> "Span":
        """The same span in steps of a day, for customers whose keys have many minutes."""
        if not self.is_of_days:
            return self
        length = self.step * self.steps
        return replace(self, each="day", step=_DAY, steps=length // _DAY)


MONTH, RANGE = "month", ""
DEFAULT_SPAN = Span("24h", "24 hours", "hour", _HOUR, 24)
SPANS = (
    Span("1h", "60 minutes", "minute", _MINUTE, 60),
    DEFAULT_SPAN,
    Span("7d", "7 days", "6 hours", 6 * _HOUR, 28),
    Span(MONTH, "this month", "day", _DAY, 31),
    Span("30d", "30 days", "day", _DAY, 30),
    Span("90d", "90 days", "day", _DAY, 90),
)


# Steps of absolute spans up to a day: (longest span, name, step).
_STEPS = (
    (2 * _HOUR, "minute", _MINUTE),
    (6 * _HOUR, "5 minutes", 5 * _MINUTE),
    (_DAY, "hour", _HOUR),
)


def span_named(name: str | None) -> Span:
    """The span of that name; the default one if there is none."""
    return next((span for span in SPANS if span.name == name), DEFAULT_SPAN)


def asked_span(query: Mapping[str, str], *, now: datetime) -> Span:
    """The span of a URL: absolute by `from` and `to`, else that of its name. Raises BadRange."""
    found = range_in(query, now=now)
    return span_named(query.get("span")) if found is None else _absolute(*found, now=now)


def span_or_why(
    query: Mapping[str, str], *, now: datetime, asked: Callable[..., Span] = asked_span
) -> tuple[Span, str]:
    """The same for pages: for a range that cannot be shown the default one, and the reason."""
    try:
        return asked(query, now=now), ""
    except BadRange as error:
        return DEFAULT_SPAN, str(error)


def between(start: datetime, end: datetime, each: str, step: timedelta) -> Span:
    """The absolute span of whole steps from start to end."""
    start -= (start - _ORIGIN) % step
    steps = max(1, -((start - end) // step))
    last = start + steps * step
    if any((at - _ORIGIN) % _DAY for at in (start, last)):
        label = f"{start:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
    else:
        label = f"{start:%Y-%m-%d} to {last - _DAY:%Y-%m-%d}"
    return Span(RANGE, label, each, step, steps, start)


def _absolute(start: datetime, end: datetime, *, now: datetime) -> Span:
    """Minutes for two hours at most, then coarser steps. What is longer than a day, or older than
    the minutes that are kept, has whole days.
    """
    length = end - start
    kept = now - timedelta(days=settings.USAGE_DAYS - 1)
    if length <= _DAY and start >= kept:
        each, step = next((name, step) for most, name, step in _STEPS if length <= most)
        return between(start, end, each, step)
    start = start.replace(hour=0, minute=0, second=0, microsecond=0)
    days = -((start - end) // _DAY)
    if days <= 1 and start >= kept:
        each, step = "hour", _HOUR
    elif days <= 8 and start >= kept:
        each, step = "6 hours", 6 * _HOUR
    else:
        each, step = "day", _DAY
    return between(start, start + days * _DAY, each, step)
