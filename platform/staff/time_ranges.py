"""The range of time that a page shows, in its URL: `span`, or `from` and `to`; and `compare`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

LONGEST = timedelta(days=400)
_MINUTE = timedelta(minutes=1)
_OF_RANGES = ("span", "from", "to", "compare")
_EXAMPLE = "2026-01-31T14:05 or 2026-01-31"


class BadRange(ValueError):
    """A range that cannot be shown; the text says why."""


def range_in(query: Mapping[str, str], *, now: datetime) -> tuple[datetime, datetime] | None:
    """The absolute range of a URL in UTC, its end exclusive and at most `now`, rounded up to a
    minute; None where it names none. Raises BadRange.
    """
    first, last = query.get("from", "").strip(), query.get("to", "").strip()
    if not first and not last:
        return None
    if not first or not last:
        raise BadRange("A range needs both its start (from) and its end (to).")
    start, end = _moment("from", first), _moment("to", last)
    if len(last) == len("2026-01-31"):
        end += timedelta(days=1)  # a day as the end is meant as a whole
    if start >= end:
        raise BadRange("The start of the range is not before its end.")
    if start >= now:
        raise BadRange("The range begins in the future.")
    end = min(end, now.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE)
    if end - start > LONGEST:
        raise BadRange(f"The range is longer than {LONGEST.days} days.")
    return start, end


def kept_range(query: Mapping[str, str]) -> dict[str, str]:
    """The values of a URL that name its range, for links to other pages with the same one."""
    return {name: query[name] for name in _OF_RANGES if query.get(name)}


@dataclass(frozen=True, slots=True)
class Picker:
    """What templates/admin/range_picker.html shows: (label, link, chosen) of each span, the values
    of the form, and what of the URL is kept by it. `error` says why the range is not the asked one.
    """

    choices: list[tuple[str, str, bool]]
    start: str
    end: str
    kept: list[tuple[str, str]]
    absolute: bool
    compared: bool
    compare_link: str
    error: str = ""


def picker_of(
    query: Mapping[str, str],
    spans: Iterable[tuple[str, str]],
    *,
    chosen: str,
    bounds: tuple[datetime, datetime],
    error: str = "",
) -> Picker:
    """`spans` are (name, label); `chosen` is the name of the shown one, "" for an absolute range.
    `bounds` fill in the form.
    """
    asked = {name: value for name, value in query.items() if value}
    others = {name: value for name, value in asked.items() if name not in ("span", "from", "to")}
    compared = asked.get("compare") == "previous"
    turned = {name: value for name, value in asked.items() if name != "compare"}
    if not compared:
        turned["compare"] = "previous"
    start, end = (f"{at.astimezone(UTC):%Y-%m-%dT%H:%M}" for at in bounds)
    return Picker(
        choices=[
            (label, "?" + urlencode({**others, "span": name}), name == chosen)
            for name, label in spans
        ],
        start=start,
        end=end,
        kept=list(others.items()),
        absolute=not chosen,
        compared=compared,
        compare_link="?" + urlencode(turned),
        error=error,
    )


def _moment(name: str, text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
        # Years at the ends of the calendar have no neighbours in other time zones.
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        at = datetime.min.replace(tzinfo=UTC)
    if not 1970 <= at.year <= 9000:
        raise BadRange(f"`{name}` is not a time: write it in UTC as {_EXAMPLE}.")
    return at
