"""The time spans of reports."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from access.months import month_of

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A report's time span: about `steps` times `step`, the last step still running. A span of days
    has whole UTC days, so that it matches the sums of days.
    """

    name: str
    label: str
    each: str
    step: timedelta
    steps: int

    @property
    def is_of_days(self) -> bool:
        return self.step * self.steps > _DAY or self.name == MONTH

    def bounds(self, now: datetime) -> tuple[datetime, datetime]:
        """Start (inclusive) and end (exclusive)."""
        if not self.is_of_days:
            origin = datetime(2000, 1, 1, tzinfo=UTC)
            end = origin + (((now - origin) // self.step) + 1) * self.step
            return end - self.steps * self.step, end
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return (
            month_of(now)
            if self.name == MONTH
            else (today + _DAY - self.steps * self.step, today + _DAY)
        )

    def begins(self, now: datetime) -> list[datetime]:
        """The start of every step that began; a month has all of its days."""
        start, end = self.bounds(now)
        count = (end - start) // self.step
        every = (start + self.step * number for number in range(count))
        return [begin for begin in every if begin <= now or self.name == MONTH]

    def by_days(self) -> "Span":
        """The same span in steps of a day, for customers whose keys have many minutes."""
        if not self.is_of_days:
            return self
        length = self.step * self.steps
        return replace(self, each="day", step=_DAY, steps=length // _DAY)


MONTH = "month"
DEFAULT_SPAN = Span("24h", "24 hours", "hour", _HOUR, 24)
SPANS = (
    Span("1h", "60 minutes", "minute", _MINUTE, 60),
    DEFAULT_SPAN,
    Span("7d", "7 days", "6 hours", 6 * _HOUR, 28),
    Span(MONTH, "this month", "day", _DAY, 31),
    Span("30d", "30 days", "day", _DAY, 30),
    Span("90d", "90 days", "day", _DAY, 90),
)


def span_named(name: str | None) -> Span:
    """The span of that name; the default one if there is none."""
    return next((span for span in SPANS if span.name == name), DEFAULT_SPAN)
