"""The large chart of each light."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from operations.rules.rule import Area
from operations.services import series
from operations.services.series import Span, Values
from staff.charts import UNITS, Chart, Series


@dataclass(frozen=True, slots=True)
class _Line:
    """A series: its colour, its label, the samples that it takes and what it makes of them."""

    colour: str
    label: str
    samples: tuple[str, ...]
    of: Callable[..., float] = lambda value: value


@dataclass(frozen=True, slots=True)
class _Drawn:
    title: str
    lines: tuple[_Line, ...]
    unit: str
    stacked: bool = False
    top: float = 0.0
    note: str = ""


_ANSWERED, _REFUSED, _FAILED = "calls_per_second", "refused_percent", "failed_percent"
_DRAWN = {
    Area.FOLLOWING: _Drawn(
        "Slots behind the chain",
        (
            _Line("p50", "behind", ("behind",)),
            _Line("p95", "in open gaps", ("gap_slots",)),
        ),
        "slots",
        top=8,
        note="No line: the stream was silent or lost.",
    ),
    Area.LANDING: _Drawn(
        "Share that landed",
        (_Line("p50", "landed", ("landed_percent",)),),
        "percent",
        top=100,
        note="Of what settled in the 15 minutes before.",
    ),
    Area.CALLING: _Drawn(
        "Calls per second",
        (
            _Line(
                "ok",
                "counted",
                (_ANSWERED, _REFUSED, _FAILED),
                lambda calls, refused, failed: calls * (100 - refused - failed) / 100,
            ),
            _Line(
                "l-failed",
                "refused",
                (_ANSWERED, _REFUSED),
                lambda calls, refused: calls * refused / 100,
            ),
            _Line(
                "l-refused",
                "failed",
                (_ANSWERED, _FAILED),
                lambda calls, failed: calls * failed / 100,
            ),
        ),
        "per_second",
        stacked=True,
    ),
    Area.ROOM: _Drawn(
        "How full it is",
        (
            _Line("p50", "disk", ("disk_used_percent",)),
            _Line("p95", "memory of Valkey", ("redis_used_percent",)),
            _Line("p99", "longest queue", ("queue_percent",)),
        ),
        "percent",
        top=100,
        note="A queue is full at the length from which it is an alarm.",
    ),
}


def names(areas: Sequence[Area]) -> list[str]:
    """The samples that these charts are made of."""
    found = [name for area in areas for line in _DRAWN[area].lines for name in line.samples]
    return list(dict.fromkeys(found))


def charts(areas: Sequence[Area], span: Span, *, now: datetime) -> dict[Area, Chart]:
    """Each with every step of the span; a step without a sample has no value."""
    found = series.values(names(areas), span, now=now)
    step = timedelta(seconds=span.step)
    start = series.start_of(span, now)
    starts = [start + number * step for number in range(span.points)]
    return {area: _chart(_DRAWN[area], found, starts, step) for area in areas}


def _chart(
    drawn: _Drawn, found: dict[str, Values], starts: list[datetime], step: timedelta
) -> Chart:
    known = [
        line for line in drawn.lines if any(each is not None for each in found[line.samples[0]])
    ]
    return Chart(
        drawn.title,
        starts,
        step,
        [_series(line, found, drawn.unit) for line in known or drawn.lines],
        unit=drawn.unit,
        stacked=drawn.stacked,
        note=drawn.note,
        top=drawn.top,
    )


def _series(line: _Line, found: dict[str, Values], unit: str) -> Series:
    """What is not there at all, such as refused calls when no one called, is 0 in a sum."""
    steps = zip(*(found[name] for name in line.samples), strict=True)
    values = [_made(line, step) for step in steps]
    newest = next((each for each in reversed(values) if each is not None), None)
    return Series(
        line.colour, line.label, values, shown="" if newest is None else UNITS[unit](newest)
    )


def _made(line: _Line, step: Sequence[float | None]) -> float | None:
    if step[0] is None:
        return None
    return round(line.of(*(each or 0.0 for each in step)), 4)
