"""A report's steps → the bars of a stacked chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from access.services.usage_reports import Step, UsageReport
from access.spans import Span


@dataclass(frozen=True, slots=True)
class Bar:
    """One step in a chart of height 100: errors stand on top of what went well."""

    x: float
    ok_y: float
    ok_height: float
    errors_y: float
    errors_height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars in a box of `width` by 100. `scale` labels go from the top, `times` from the left."""

    width: int
    bars: Sequence[Bar]
    scale: Sequence[str]
    times: Sequence[str]


def chart_of(report: UsageReport) -> Chart:
    """Ten units of width a step."""
    top = _round_up(max(step.ok + step.errors for step in report.steps))
    return Chart(
        width=10 * len(report.steps),
        bars=[_bar(number, step, report.span, top) for number, step in enumerate(report.steps)],
        scale=[f"{top:,}", f"{top / 2:,.0f}" if top > 1 else "", "0"],
        times=[_time(step.start, report.span) for step in _five(report.steps)],
    )


@dataclass(frozen=True, slots=True)
class MethodBar:
    """One method's bar: what its calls are in percent of those of the busiest method."""

    method: str
    ok_width: float
    errors_width: float
    calls: int
    title: str


def method_bars(report: UsageReport) -> list[MethodBar]:
    """The methods that were called most, the first one's bar as wide as can be."""
    top = max((share.ok + share.errors for share in report.shares), default=0) or 1
    return [
        MethodBar(
            share.method,
            round(100 * share.ok / top, 2),
            round(max(100 * share.errors / top, 0.5 if share.errors else 0.0), 2),
            share.ok + share.errors,
            f"{share.method}: {share.ok:,} ok, {share.errors:,} refused or failed",
        )
        for share in report.shares
    ]


def _five(steps: Sequence[Step]) -> list[Step]:
    last = len(steps) - 1
    return [steps[round(last * part / 4)] for part in range(5)]


def _bar(number: int, step: Step, span: Span, top: int) -> Bar:
    ok, errors = 100 * step.ok / top, 100 * step.errors / top
    # A single error beside a million calls is still to be seen.
    errors = max(errors, 1.5) if step.errors else 0.0
    ok = min(ok, 100 - errors)
    title = f"{_time(step.start, span)} UTC: {step.ok:,} ok, {step.errors:,} refused or failed"
    return Bar(
        x=10 * number + 1,
        ok_y=round(100 - ok, 2),
        ok_height=round(ok, 2),
        errors_y=round(100 - ok - errors, 2),
        errors_height=round(errors, 2),
        title=title,
    )


def _time(moment: datetime, span: Span) -> str:
    if span.step >= timedelta(days=1):
        return f"{moment:%b} {moment.day}"
    return (
        f"{moment:%H:%M}"
        if span.step * span.steps <= timedelta(days=1)
        else f"{moment:%b} {moment.day}, {moment:%H:%M}"
    )


def _round_up(number: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, …"""
    top = 1
    while True:
        for step in (1, 2, 5):
            if top * step >= number:
                return top * step
        top *= 10
