"""A line over time → what its SVG needs."""

from collections.abc import Callable
from dataclasses import dataclass

from operations.services.series import Span, Values

# (number of the step, value)
Points = list[tuple[int, float]]

WIDTH, HEIGHT = 240, 48
# Space above and below, so that a line at the edge is not cut.
_MARGIN = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """How a figure of the samples is drawn. The scale reaches at least to `top`; with `floats` it
    begins at the lowest value instead of 0.
    """

    name: str
    title: str
    format: Callable[[float], str]
    top: float = 1.0
    floats: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Parts of a line, broken where samples are missing, and its labels."""

    parts: list[str]
    range: str
    label: str
    since: str
    newest: str = ""


def line_of(figure: Figure, steps: Values, span: Span) -> Line:
    """The values of every step in a box of WIDTH by HEIGHT."""
    since = f"{span.label} ago"
    points = [(number, value) for number, value in enumerate(steps) if value is not None]
    if not points:
        label = f"{figure.title} over the last {span.label}: no samples yet"
        return Line([], "", label, since)
    values = [value for _, value in points]
    low = min(values) if figure.floats else 0.0
    high = max(*values, low + figure.top) if not figure.floats else max(values)
    least, most = figure.format(min(values)), figure.format(max(values))
    label = f"{figure.title} over the last {span.label}: least {least}, most {most}"
    return Line(
        [_part(part, low, high, span.points) for part in _unbroken(points)],
        least if least == most else f"{least} to {most}",
        f"{label}, newest {figure.format(values[-1])}",
        since,
        figure.format(values[-1]),
    )


def _unbroken(points: Points) -> list[Points]:
    """The line breaks where more than one sample in a row is missing."""
    parts: list[Points] = []
    for point in points:
        if parts and point[0] - parts[-1][-1][0] <= 2:
            parts[-1].append(point)
        else:
            parts.append([point])
    return parts


def _part(points: Points, low: float, high: float, steps: int) -> str:
    if len(points) == 1:  # a line needs two ends
        number, value = points[0]
        points = [(number, value), (number + 1, value)]
    across = WIDTH / max(1, steps - 1)
    up = (HEIGHT - 2 * _MARGIN) / (high - low) if high > low else 0.0
    base = HEIGHT - _MARGIN if high > low else HEIGHT / 2
    return " ".join(
        f"{min(number * across, WIDTH):.1f},{base - (value - low) * up:.1f}"
        for number, value in points
    )
