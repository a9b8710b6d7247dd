"""Counts of landing → its charts over time, and a histogram."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from access.spans import Span
from priority.reports.services.landing import SLOT_BOUNDS
from priority.reports.services.landing_times import TimedPercentiles, Triple
from staff.charts import Chart, Series
from staff.formatting import grouped

# The least width of a bar, in percent.
LEAST = 1.5
_PERCENTILES = ("p50", "p95", "p99")


def over_time(
    title: str,
    steps: Sequence[tuple[datetime, Mapping[str, int]]],
    names: Sequence[str],
    span: Span,
    *,
    before: Sequence[Mapping[str, int] | None] = (),
    label: Callable[[str], str] = str,
    unit: str = "count",
    note: str = "",
) -> Chart:
    """One bar for each step, in the colours of the classes tm-l-… of admin.css."""
    return Chart(
        title=title,
        starts=[start for start, _ in steps],
        step=span.step,
        series=[
            Series(
                f"l-{name}",
                label(name),
                [counts.get(name, 0) for _, counts in steps],
                [None if counts is None else counts.get(name, 0) for counts in before],
                grouped(sum(counts.get(name, 0) for _, counts in steps)),
            )
            for name in names
        ],
        unit=unit,
        note=note,
        ranged=True,
    )


def slots_to_land(timed: TimedPercentiles, starts: Sequence[datetime], span: Span) -> Chart | None:
    """Percentiles of each step; None where nothing landed."""
    note = "From the slot of acceptance to the slot of the block. Above 8 slots the upper bound of"
    note += " their bucket is shown: 16, 32, or 33 for all slower ones."
    return _lines("Slots to land", timed.slots, timed.slots_before, starts, span, "slots", 1, note)


def first_byte(timed: TimedPercentiles, starts: Sequence[datetime], span: Span) -> Chart | None:
    """Percentiles of each step; None where nothing was sent."""
    note = (
        "From the arrival of the request to the start of the first accepted attempt, known to 5 %."
    )
    title = "Receipt to first byte"
    return _lines(title, timed.byte, timed.byte_before, starts, span, "ms", 1e-3, note)


def _lines(
    title: str,
    values: Sequence[Triple],
    before: Sequence[Triple],
    starts: Sequence[datetime],
    span: Span,
    unit: str,
    factor: float,
    note: str,
) -> Chart | None:
    if not any(values):
        return None

    def line(triples: Sequence[Triple], place: int) -> list[float | None]:
        return [None if each is None else round(each[place] * factor, 4) for each in triples]

    series = [
        Series(name, name, line(values, place), line(before, place))
        for place, name in enumerate(_PERCENTILES)
    ]
    return Chart(title, starts, span.step, series, unit, stacked=False, note=note, ranged=True)


def histogram(slots: Counter[int]) -> list[tuple[str, int, float, float]]:
    """(slots, submissions, percent of all, width of the bar) of every bucket."""
    total, most = sum(slots.values()), max(slots.values(), default=0)
    return [
        (
            bound,
            slots[number],
            100 * slots[number] / total if total else 0.0,
            max(100 * slots[number] / most, LEAST) if slots[number] else 0.0,
        )
        for number, bound in enumerate(SLOT_BOUNDS)
    ]


def shares(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int, float]]:
    """(name, count, percent of all)."""
    rows = list(counts)
    total = sum(count for _, count in rows)
    return [(name, count, 100 * count / total if total else 0.0) for name, count in rows]
