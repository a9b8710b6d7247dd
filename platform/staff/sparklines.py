"""Small bars over time beside their sum, for cells of lists."""

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from staff.formatting import grouped

_BAR, _GAP, _HEIGHT = 4, 1, 20


def sparkline(parts: Sequence[tuple[str, int, int]], *, what: str) -> SafeString:
    """(step, counted, refused or failed) of each step as bars, and the sum of the counted ones.
    `what` says what is counted: "counted calls in 14 days". A reader of the hint, or of the screen,
    gets the figures.
    """
    total = sum(counted for _, counted, _ in parts)
    errors = sum(errors for _, _, errors in parts)
    top = max((ok + errors for _, ok, errors in parts), default=0) or 1
    width = len(parts) * (_BAR + _GAP)
    paths = {"ok": "", "errors": ""}
    for number, (_, ok, other) in enumerate(parts):
        x = number * (_BAR + _GAP)
        high = _height(ok + other, top)
        red = min(high, _height(other, top))
        paths["ok"] += _bar(x, _HEIGHT - high + red, high - red)
        paths["errors"] += _bar(x, _HEIGHT - high, red)
    drawn = format_html_join(
        "", '<path class="tm-{}" d="{}"/>', ((name, path) for name, path in paths.items() if path)
    )
    busiest = max(parts, key=lambda part: part[1], default=("", 0, 0))
    hint = f"{total:,} {what}"
    if total:
        hint += f", most on {busiest[0]}: {busiest[1]:,}, last: {parts[-1][1]:,}"
    hint += f"; {errors:,} refused or failed, which do not count"
    return format_html(
        '<span class="tm-sparkline"><svg width="{1}" height="{2}" role="img"><title>{0}</title>'
        "{3}</svg>"
        '<span class="tm-number number">{4}</span></span>',
        hint,
        width,
        _HEIGHT,
        drawn,
        grouped(total),
    )


def _bar(x: int, y: float, height: float) -> str:
    """A bar of a path; nothing without a height."""
    return f"M{x} {y:.1f}h{_BAR}v{height:.1f}h-{_BAR}z" if height else ""


def _height(value: int, top: int) -> float:
    """One call beside a million is still visible."""
    return max(1.0, _HEIGHT * value / top) if value else 0.0
