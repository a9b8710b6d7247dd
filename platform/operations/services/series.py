"""Samples as lines over time: the last hour, day or week."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from columns.queries import all_rows
from operations.readings.present import MOMENT_SECONDS
from operations.services.sampling import MEAN_SECONDS, step_of

_ORIGIN = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """How far back lines go: one point each `step` seconds, from samples of the resolution."""

    name: str
    label: str
    length: timedelta
    step: int
    resolution: int

    @property
    def points(self) -> int:
        return int(self.length.total_seconds()) // self.step


SPANS = (
    Span("1h", "1 hour", timedelta(hours=1), MOMENT_SECONDS, MOMENT_SECONDS),
    Span("24h", "24 hours", timedelta(hours=24), MEAN_SECONDS, MEAN_SECONDS),
    Span("7d", "7 days", timedelta(days=7), 6 * MEAN_SECONDS, MEAN_SECONDS),
)

# Of every step of a span; None without a sample.
Values = list[float | None]


def span_named(name: str | None) -> Span:
    """The span of that name, the shortest where there is none."""
    return next((span for span in SPANS if span.name == name), SPANS[0])


def start_of(span: Span, now: datetime) -> datetime:
    """Where the first step of the span begins."""
    return step_of(now, span.step) - span.length + timedelta(seconds=span.step)


def values(names: Sequence[str], span: Span, *, now: datetime) -> dict[str, Values]:
    """The figures of these names over the span, in one query."""
    if not names:
        return {}
    start = start_of(span, now)
    means = ", ".join(["avg((values->>%s)::float8)"] * len(names))
    step: Any = timedelta(seconds=span.step)
    rows = all_rows(
        f"SELECT date_bin(%s, at, %s), {means} FROM operations_sample"
        " WHERE resolution = %s AND at >= %s AND at <= %s GROUP BY 1",
        [step, _ORIGIN, *names, span.resolution, start, now],
    )
    found: dict[str, Values] = {name: [None] * span.points for name in names}
    for at, *figures in rows:
        number = (at - start) // step
        if 0 <= number < span.points:
            for name, value in zip(names, figures, strict=True):
                found[name][number] = value
    return found
