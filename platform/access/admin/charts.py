"""A usage report → its charts, and its bars by method."""

from dataclasses import dataclass

from access.counted_calls import CallCounts, Kind
from access.services.usage_reports import UsageReport
from staff.charts import Chart, Series
from staff.formatting import grouped, utc

_COLOURS = {
    Kind.COUNTED: "ok",
    Kind.REFUSED: "refused",
    Kind.FAILED: "failed",
    Kind.PUSHED: "pushed",
}


def chart_of(report: UsageReport, *, ranged: bool = True) -> Chart:
    """Refusals and failures are drawn above counted calls. `ranged`: the page takes `from` and
    `to`.
    """
    kinds = (Kind.COUNTED, Kind.REFUSED, Kind.FAILED)
    return _chart("Calls", report, kinds, ranged=ranged)


def pushed_chart_of(report: UsageReport, *, ranged: bool = True) -> Chart | None:
    """Notifications, on a scale of their own; None without any."""
    if not report.counts.pushed:
        return None
    return _chart("Notifications", report, (Kind.PUSHED,), ranged=ranged)


def _chart(title: str, report: UsageReport, kinds: tuple[Kind, ...], *, ranged: bool) -> Chart:
    note = ""
    if report.since is not None and Kind.COUNTED in kinds:
        note = f"Nothing was counted before {utc(report.since)}: the chart begins there."
    return Chart(
        title=title,
        starts=[step.start for step in report.steps],
        step=report.span.step,
        series=[_series(report, kind) for kind in kinds],
        note=note,
        ranged=ranged,
    )


def _series(report: UsageReport, kind: Kind) -> Series:
    def number(counts: CallCounts) -> int:
        return counts[list(Kind).index(kind)]

    return Series(
        _COLOURS[kind],
        kind.value,
        [number(step.counts) for step in report.steps],
        [None if step is None else number(step.counts) for step in report.before],
        grouped(number(report.counts)),
    )


@dataclass(frozen=True, slots=True)
class MethodBar:
    """One method's bar: its calls in percent of those of the widest bar. `counted` is the figure
    beside it.
    """

    method: str
    counted_width: float
    refused_width: float
    failed_width: float
    counted: int
    title: str

    @property
    def failed_from(self) -> float:
        return self.counted_width + self.refused_width


def method_bars(report: UsageReport) -> list[MethodBar]:
    """The methods with the most counted calls."""
    top = max((share.counts.calls for share in report.shares), default=0) or 1

    def width(calls: int) -> float:
        return round(max(100 * calls / top, 0.5 if calls else 0.0), 2)

    return [
        MethodBar(
            share.method,
            round(100 * share.counts.counted / top, 2),
            width(share.counts.refused),
            width(share.counts.failed),
            share.counts.counted,
            f"{share.method}: {share.counts.counted:,} counted, {share.counts.refused:,} refused,"
            f" {share.counts.failed:,} failed",
        )
        for share in report.shares
    ]
