"""Counts over time → the bars of a stacked chart, which templates/admin/chart.html draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# Of a chart's height of 100: one beside a million is still visible.
LEAST = 1.5


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar; `name` is its class in the style sheets, behind "tm-"."""

    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One step, its pieces from the bottom up."""

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
    steps: Sequence[tuple[str, Mapping[str, int]]], names: Sequence[str], times: Sequence[str]
) -> Chart:
    """A bar for each (title, counts); `names` are its pieces from the bottom up. Of `times`, one a
    step, five are shown.
    """
    top = rounded_up(max((sum(counts.values()) for _, counts in steps), default=0))
    last = len(times) - 1
    return Chart(
        width=10 * len(steps),
        bars=[
            Bar(10 * number + 1, _parts(counts, names, top), title)
            for number, (title, counts) in enumerate(steps)
        ],
        scale=[f"{top:,}", f"{top / 2:,.0f}" if top > 1 else "", "0"],
        times=[times[round(last * part / 4)] for part in range(5)] if times else [],
    )


def time_label(at: datetime, step: timedelta, steps: int) -> str:
    """The start of a step as short as the span allows: Jan 31; 14:05; Jan 31, 14:05."""
    day = f"{at:%b} {at.day}"
    if step >= timedelta(days=1):
        return day
    return f"{at:%H:%M}" if step * steps <= timedelta(days=1) else f"{day}, {at:%H:%M}"


def rounded_up(number: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, …"""
    top = 1
    while True:
        for step in (1, 2, 5):
            if top * step >= number:
                return top * step
        top *= 10


def _parts(counts: Mapping[str, int], names: Sequence[str], top: int) -> list[Part]:
    # Small pieces keep their least height: the lower ones shrink for them.
    heights = {name: max(100 * counts[name] / top, LEAST) for name in names if counts.get(name)}
    base, parts, left = 0.0, [], sum(heights.values())
    for name, wanted in heights.items():
        left -= wanted
        height = max(min(wanted, 100 - base - left), 0.0)
        base += height
        parts.append(Part(name, round(100 - base, 2), round(height, 2)))
    return parts
