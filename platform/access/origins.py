"""Web origins: the pages in whose scripts a key may be used (RFC 6454)."""

import re
from collections.abc import Iterable

# In a name `*` stands for one label or more, at its beginning alone.
_ORIGIN = re.compile(
    r"https?://(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
    r"(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?"
)
_OWN_PORTS = {"https://": ":443", "http://": ":80"}
MOST_ORIGINS = 100


def read_origin(text: str) -> str:
    """`https://app.example`, `https://*.example.com` or `http://localhost:3000`, as browsers write
    it: in lower case, without its scheme's own port. Raises ValueError.
    """
    found = text.strip().lower().rstrip("/")
    if not _ORIGIN.fullmatch(found) or len(found) > 260:
        raise ValueError(f"{text[:60]!r} is not an origin such as https://app.example")
    scheme, between, host = found.partition("://")
    return scheme + between + host.removesuffix(_OWN_PORTS[scheme + between])


def allows(origins: Iterable[str], origin: str) -> bool:
    """Is it one of the origins, or below one that begins with `*`?"""
    return any(
        origin == each or ("*." in each and _is_below(origin, each.partition("*")))
        for each in origins
    )


def _is_below(origin: str, parts: tuple[str, str, str]) -> bool:
    scheme, _, name = parts
    below = origin.removeprefix(scheme).removesuffix(name)
    return origin == scheme + below + name and below != "" and "/" not in below
