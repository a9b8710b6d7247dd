"""A usage report → its chart over time, and its bars by method."""

from dataclasses import dataclass

from access.services.usage_reports import UsageReport
from staff.charts import Chart, stacked, time_label


def chart_of(report: UsageReport) -> Chart:
    """Errors are drawn above successful calls."""
    span, steps = report.span, report.steps
    times = [time_label(step.start, span.step, span.steps) for step in steps]
    titles = [
        f"{time} UTC: {step.ok:,} ok, {step.errors:,} refused or failed"
        for time, step in zip(times, steps, strict=True)
    ]
    counts = [{"ok": step.ok, "errors": step.errors} for step in steps]
    return stacked(list(zip(titles, counts, strict=True)), ("ok", "errors"), times)


@dataclass(frozen=True, slots=True)
class MethodBar:
    """One method's bar: what its calls are in percent of those of the busiest method."""

    method: str
    ok_width: float
    errors_width: float
    calls: int
    title: str


def method_bars(report: UsageReport) -> list[MethodBar]:
    """The methods called most; the first one's bar has full width."""
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
