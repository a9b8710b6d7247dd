"""Counts of landing → the bars of its charts: stacked over time, and a histogram."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from priority.reports.landing import SLOT_BOUNDS, Span
from staff.charts import LEAST, Chart, stacked, time_label


def over_time(
    steps: Sequence[tuple[datetime, Mapping[str, int]]],
    names: Sequence[str],
    span: Span,
    *,
    label: Callable[[str], str] = str,
) -> Chart:
    """One bar for each step, in the colours of the classes tm-l-… of admin.css."""
    times = [
        time_label(start, timedelta(seconds=span.step_seconds), span.steps) for start, _ in steps
    ]
    bars = []
    for time, (_, counts) in zip(times, steps, strict=True):
        text = ", ".join(f"{counts[name]:,} {label(name)}" for name in names if counts.get(name))
        drawn = {f"l-{name}": count for name, count in counts.items()}
        bars.append((f"{time} UTC: {text or 'none'}", drawn))
    return stacked(bars, [f"l-{name}" for name in names], times)


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
