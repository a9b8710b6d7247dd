"""Keys by the part of them that is shown: the first characters, and the last four."""

import re

from django.db.models import Q

# The beginning of a key, of at least five characters, and after an ellipsis its end.
_SHOWN = re.compile(r"([A-Za-z0-9_-]{5,200})(?:(?:…|\.\.\.)([A-Za-z0-9_-]{4}))?").fullmatch
_PREFIX = 8


def keys_shown_as(text: str) -> Q | None:
    """The keys that are shown so: `tmk_Ab3d`, its beginning, or `tmk_Ab3d…wxyz`; None if
    no key is. A whole key is found by its beginning: what follows is not compared.
    """
    read = _SHOWN(text)
    if read is None:
        return None
    prefix, end = read[1], read[2]
    condition = Q(shown_prefix__startswith=prefix[:_PREFIX])
    return condition & Q(last_four=end) if end else condition
