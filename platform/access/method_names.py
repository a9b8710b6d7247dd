"""The methods that a key may call, as a list of names."""

import re
from collections.abc import Iterable

from access.errors import BadMethod
from access.models import METHOD_NAME

MOST_METHODS = 200


def listed_methods(names: Iterable[str]) -> list[str]:
    """The names, each once, in order. Raises BadMethod for what is no method's name."""
    found = sorted(set(names))
    for name in found:
        if re.match(METHOD_NAME, name) is None:
            raise BadMethod(f"{name[:60]!r} is no method's name")
    if len(found) > MOST_METHODS:
        raise BadMethod(f"{len(found)} methods are above the maximum of {MOST_METHODS}")
    return found
