"""A line over time → what its SVG needs."""

from collections.abc import Callable
from dataclasses import dataclass

from operations.services.series import Points, Span

WIDTH, HEIGHT = 240, 48
# So much is left free above and below, that a line at its edge is seen whole.
_MARGIN = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """How a figure of the samples is drawn: `top` is the least that the scale reaches up to, and
    with `floats` its scale begins at the least value instead of at 0.
    """

    name: str
    title: str
    say: Callable[[float], str]
    top: float = 1.0
    floats: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Parts of a line, broken where samples are lacking; the words of its ends."""

    parts: list[str]
    range: str
    label: str
    since: str


def line_of(figure: Figure, points: Points, span: Span) -> Line:
    """Points in a box of WIDTH by HEIGHT."""
    since = f"{span.label} ago"
    if not points:
        label = f"{figure.title} over the last {span.label}: nothing was sampled yet"
        return Line([], "", label, since)
    values = [value for _, value in points]
    low = min(values) if figure.floats else 0.0
    high = max(*values, low + figure.top) if not figure.floats else max(values)
    least, most = figure.say(min(values)), figure.say(max(values))
    label = f"{figure.title} over the last {span.label}: least {least}, most {most}"
    return Line(
        [_part(part, low, high, span.points) for part in _unbroken(points)],
        least if least == most else f"{least} to {most}",
        f"{label}, newest {figure.say(values[-1])}",
        since,
    )


def _unbroken(points: Points) -> list[Points]:
    """One sample may come a step late; where more are lacking nothing is known."""
    parts: list[Points] = []
    for point in points:
        if parts and point[0] - parts[-1][-1][0] <= 2:
            parts[-1].append(point)
        else:
            parts.append([point])
    return parts


def _part(points: Points, low: float, high: float, steps: int) -> str:
    if len(points) == 1:  # a dash, for a line needs two ends
        number, value = points[0]
        points = [(number, value), (number + 1, value)]
    across = WIDTH / max(1, steps - 1)
    up = (HEIGHT - 2 * _MARGIN) / (high - low) if high > low else 0.0
    base = HEIGHT - _MARGIN if high > low else HEIGHT / 2
    return " ".join(
        f"{min(number * across, WIDTH):.1f},{base - (value - low) * up:.1f}"
        for number, value in points
    )
