"""Counts of landing → the bars of its charts: stacked over time, and a histogram."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from priority.services.landing_report import SLOT_BOUNDS, Span

# Of a chart's height 100: a single one beside a million is still to be seen.
_LEAST = 1.5


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar, in a colour that admin.css knows by its name."""

    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One step, its pieces from the ground up."""

    x: float
    parts: Sequence[Part]
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars in a box of `width` by 100. `scale` labels go from the top, `times` from the left."""

    width: int
    bars: Sequence[Bar]
    scale: Sequence[str]
    times: Sequence[str]


def stacked(
    steps: Sequence[tuple[datetime, Mapping[str, int]]],
    names: Sequence[str],
    span: Span,
    *,
    label: Callable[[str], str] = str,
) -> Chart:
    """A bar a step; `names` stand in it from the ground up."""
    top = rounded_up(max((sum(counts.values()) for _, counts in steps), default=0))
    last = max(len(steps) - 1, 0)
    marks = [steps[round(last * part / 4)][0] for part in range(5)] if steps else []
    return Chart(
        width=10 * len(steps),
        bars=[
            Bar(
                x=10 * number + 1,
                parts=_parts(counts, names, top),
                title=_title(start, counts, names, span, label),
            )
            for number, (start, counts) in enumerate(steps)
        ],
        scale=[f"{top:,}", f"{top / 2:,.0f}" if top > 1 else "", "0"],
        times=[_time(mark, span) for mark in marks],
    )


def histogram(slots: Counter[int]) -> list[tuple[str, int, float, float]]:
    """(slots, submissions, percent of all, width of the bar) of every bucket."""
    total, most = sum(slots.values()), max(slots.values(), default=0)
    return [
        (
            bound,
            slots[number],
            100 * slots[number] / total if total else 0.0,
            max(100 * slots[number] / most, _LEAST) if slots[number] else 0.0,
        )
        for number, bound in enumerate(SLOT_BOUNDS)
    ]


def shares(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int, float]]:
    """(name, count, percent of all)."""
    rows = list(counts)
    total = sum(count for _, count in rows)
    return [(name, count, 100 * count / total if total else 0.0) for name, count in rows]


def rounded_up(number: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, …"""
    top = 1
    while True:
        for step in (1, 2, 5):
            if top * step >= number:
                return top * step
        top *= 10


def _parts(counts: Mapping[str, int], names: Sequence[str], top: int) -> list[Part]:
    ground, parts = 0.0, []
    for name in names:
        if not counts.get(name):
            continue
        height = min(max(100 * counts[name] / top, _LEAST), 100 - ground)
        ground += height
        parts.append(Part(name, round(100 - ground, 2), round(height, 2)))
    return parts


def _title(
    start: datetime,
    counts: Mapping[str, int],
    names: Sequence[str],
    span: Span,
    label: Callable[[str], str],
) -> str:
    told = ", ".join(f"{counts[name]:,} {label(name)}" for name in names if counts.get(name))
    return f"{_time(start, span)} UTC: {told or 'none'}"


def _time(moment: datetime, span: Span) -> str:
    if span.step_seconds >= 86_400:
        return f"{moment:%b} {moment.day}"
    if span.steps <= 24:
        return f"{moment:%H:%M}"
    return f"{moment:%b} {moment.day}, {moment:%H:%M}"
