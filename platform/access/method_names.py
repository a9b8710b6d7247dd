"""The methods that a key may call, as a list of names."""

from collections.abc import Iterable
from difflib import get_close_matches

from access.errors import BadMethod
from access.served_paths import served_names

MOST_METHODS = 200
_MOST_NEAREST = 3


def listed_methods(names: Iterable[str]) -> list[str]:
    """The names, each once, in order. Raises BadMethod, which has all that the service does not
    serve.
    """
    found = sorted(set(names))
    if len(found) > MOST_METHODS:
        raise BadMethod(f"{len(found)} methods are above the maximum of {MOST_METHODS}")
    served = served_names() if found else frozenset()
    unknown = [
        f"{name[:60]!r} is not a method of this service{_nearest(name, served)}"
        for name in found
        if name not in served
    ]
    if unknown:
        raise BadMethod("; ".join(unknown))
    return found


def _nearest(name: str, served: Iterable[str]) -> str:
    by_lower = {each.lower(): each for each in sorted(served)}
    close = get_close_matches(name[:60].lower(), by_lower, _MOST_NEAREST)
    return f": did you mean {' or '.join(by_lower[each] for each in close)}?" if close else ""
