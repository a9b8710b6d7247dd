"""Small bars over time beside their sum, for cells of lists."""

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from staff.formatting import grouped

_BAR, _GAP, _HEIGHT = 4, 1, 20


def sparkline(parts: Sequence[tuple[str, int, int]], *, what: str) -> SafeString:
    """(step, successful, other) of each step as bars, and the sum. `what` says what is counted:
    "calls in 14 days". A reader of the hint, or of the screen, gets the figures.
    """
    total = sum(ok + errors for _, ok, errors in parts)
    errors = sum(errors for _, _, errors in parts)
    top = max((ok + errors for _, ok, errors in parts), default=0) or 1
    width = len(parts) * (_BAR + _GAP)
    bars = []
    for number, (_, ok, other) in enumerate(parts):
        x = number * (_BAR + _GAP)
        high = _height(ok + other, top)
        red = min(high, _height(other, top))
        bars.append((x, _HEIGHT - high + red, high - red, "ok"))
        bars.append((x, _HEIGHT - high, red, "errors"))
    drawn = format_html_join(
        "",
        '<rect class="tm-{}" x="{}" y="{}" width="{}" height="{}"/>',
        ((name, x, f"{y:.1f}", _BAR, f"{high:.1f}") for x, y, high, name in bars if high),
    )
    busiest = max(parts, key=lambda part: part[1] + part[2], default=("", 0, 0))
    hint = f"{total:,} {what}, {errors:,} of them refused or failed"
    if total:
        hint += f"; most on {busiest[0]}: {busiest[1] + busiest[2]:,}; last: {_last(parts):,}"
    return format_html(
        '<span class="tm-sparkline" title="{0}"><svg viewBox="0 0 {1} {2}" width="{1}"'
        ' height="{2}" role="img" aria-label="{0}">{3}</svg>'
        '<span class="tm-number number">{4}</span></span>',
        *(hint, width, _HEIGHT, drawn, grouped(total)),
    )


def _height(value: int, top: int) -> float:
    """One call beside a million is still visible."""
    return max(1.0, _HEIGHT * value / top) if value else 0.0


def _last(parts: Sequence[tuple[str, int, int]]) -> int:
    return parts[-1][1] + parts[-1][2]
