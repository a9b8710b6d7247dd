"""The fields in which a replay differs from the chain, for a table of both sides."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from chain.shown_text import escaped


def differences_of(found: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Each of {field, expected, found} as text."""
    return [
        {"field": each["field"], "expected": _text(each["expected"]), "found": _text(each["found"])}
        for each in found
    ]


def _text(value: Any) -> str:
    return escaped(value if isinstance(value, str) else json.dumps(value, indent=1))
