"""Figures over time → what templates/admin/chart.html and tidemark/chart.js draw and list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from staff.formatting import milliseconds, sol

_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


# Unit → how a value of it is written; tidemark/chart.js knows the same units for its scale.
UNITS: dict[str, Callable[[float], str]] = {
    "count": _count,
    "lamports": lambda value: f"{_count(value)} ({sol(int(value))})",
    "slots": _count,
    "ms": milliseconds,
    "percent": lambda value: f"{_count(round(value, 1))}%",
    "per_second": lambda value: f"{_count(round(value, 1))}/s",
}


@dataclass(frozen=True, slots=True)
class Series:
    """A value each step, None where it is not known; `before` are the steps of the previous period.
    `name` is the class of its colour in the style sheets, behind "tm-"; the legend has `shown`.
    """

    name: str
    label: str
    values: Sequence[float | None]
    before: Sequence[float | None] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Series over steps of time that begin at `starts` (UTC) and last `step`: stacked or lines.
    `note` says what the reader has to know of them. `ranged`: the page takes `from` and `to`. The
    scale reaches at least to `top`.
    """

    title: str
    starts: Sequence[datetime]
    step: timedelta
    series: Sequence[Series]
    unit: str = "count"
    stacked: bool = True
    note: str = ""
    ranged: bool = False
    top: float = 0.0

    @property
    def compared(self) -> bool:
        return any(each.before for each in self.series)

    @property
    def data(self) -> dict[str, Any]:
        """For the script: Unix seconds of the steps, and the values of each series."""
        return {
            "title": self.title,
            "unit": self.unit,
            "stacked": self.stacked,
            "ranged": self.ranged,
            "top": self.top,
            "step": int(self.step.total_seconds()),
            "starts": [int(start.timestamp()) for start in self.starts],
            "series": [
                {"label": each.label, "values": each.values, "before": each.before}
                for each in self.series
            ],
        }

    @property
    def columns(self) -> list[str]:
        """Names of the table's columns behind the time."""
        names = [each.label for each in self.series]
        return names + ([f"{name}, previous period" for name in names] if self.compared else [])

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """(time, values as words) of each step, the same figures as in `data`."""
        sides = [each.values for each in self.series]
        sides += [each.before for each in self.series] if self.compared else []
        return [
            (self.time_of(start), [self._words(side, number) for side in sides])
            for number, start in enumerate(self.starts)
        ]

    def time_of(self, start: datetime) -> str:
        """The start of a step: 2026-01-31; 2026-01-31 14:05; 2026-01-31 14:05:15."""
        at = start.astimezone(UTC)
        if self.step >= _DAY:
            return f"{at:%Y-%m-%d}"
        seconds = self.step < _MINUTE
        return f"{at:%Y-%m-%d %H:%M:%S}" if seconds else f"{at:%Y-%m-%d %H:%M}"

    def _words(self, values: Sequence[float | None], number: int) -> str:
        value = values[number] if number < len(values) else None
        return "-" if value is None else UNITS[self.unit](value)
