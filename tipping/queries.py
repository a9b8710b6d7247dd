"""The query string of a fetch."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl

from msgspec import Meta

from gateway.declarations import Parameter
from tipping.errors import BadTipQuery

# More digits than any meaningful value; longer numbers are cut.
_MOST_DIGITS = 30


_Positive = Annotated[int, Meta(ge=1)]

FETCH = (
    Parameter(
        "ttl",
        _Positive,
        "how many seconds the addresses must be valid: the shortest class that is long enough",
        default="`default_ttl_seconds` of tipinfo",
    ),
    Parameter("count", _Positive, "how many addresses, up to `max_count` of tipinfo", default="1"),
)


@dataclass(frozen=True, slots=True)
class FetchQuery:
    """The parameters of a fetch. `is_plain`: there were none, so the response has the old form."""

    ttl: int | None
    count: int
    is_plain: bool


def read_fetch_query(query: str) -> FetchQuery:
    """Unknown parameters are ignored, but select the newer response form; `api_key` does not. Of a
    repeated parameter the last counts. Raises BadTipQuery.
    """
    named = dict(parse_qsl(query, keep_blank_values=True))
    named.pop("api_key", None)
    ttl = _integer("ttl", named["ttl"]) if "ttl" in named else None
    if ttl is not None and ttl < 1:
        raise BadTipQuery(f"ttl must be at least 1 second, found {named['ttl'][:40]}")
    count = _integer("count", named["count"]) if "count" in named else 1
    return FetchQuery(ttl, count, not named)


def _integer(name: str, text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise BadTipQuery(f"{name} must be an integer, found {text[:40]!r}")
    number = int(digits.lstrip("0")[:_MOST_DIGITS] or "0")
    return number if digits is text else -number
