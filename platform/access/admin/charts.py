"""A usage report → its chart, and its bars by method."""

from dataclasses import dataclass

from access.services.usage_reports import UsageReport
from staff.charts import Chart, Series
from staff.formatting import grouped, utc


def chart_of(report: UsageReport, *, ranged: bool = True) -> Chart:
    """Errors are drawn above successful calls. `ranged`: the page takes `from` and `to`."""
    steps, before = report.steps, report.before
    note = ""
    if report.since is not None:
        note = f"Nothing was counted before {utc(report.since)}: the chart begins there."
    return Chart(
        title="Calls",
        starts=[step.start for step in steps],
        step=report.span.step,
        series=[
            Series(
                "ok",
                "ok",
                [step.ok for step in steps],
                [None if step is None else step.ok for step in before],
                grouped(report.ok),
            ),
            Series(
                "errors",
                "refused or failed",
                [step.errors for step in steps],
                [None if step is None else step.errors for step in before],
                grouped(report.errors),
            ),
        ],
        note=note,
        ranged=ranged,
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
