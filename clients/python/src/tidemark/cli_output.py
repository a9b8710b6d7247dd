"""What `tidemark` prints."""

import json
import shutil
from collections.abc import Mapping
from typing import Any

from tidemark.values import Record, plain

_GAP = "  "
# What says most of a row: these columns come first, the others as long as there is room.
_FIRST = ("id", "name", "rule", "who", "verb", "subject", "text", "state", "severity", "email")


def as_json(found: Any) -> str:
    """JSON, as the service sends it."""
    return json.dumps(_as_wire(found), indent=2, ensure_ascii=False) + "\n"


def as_text(found: Any) -> str:
    """A table of a list, as wide as the terminal, and the columns that it has no room for; of
    another value a line for each member.
    """
    value = _as_wire(found)
    if isinstance(value, list):
        return _table([each for each in value if isinstance(each, dict)])
    if not isinstance(value, Mapping):
        return ""
    widest = max(map(len, value), default=0)
    return "".join(f"{name:<{widest}}{_GAP}{_cell(each)}\n" for name, each in value.items())


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "none\n"
    names = [name for name in _FIRST if name in rows[0]]
    names += [name for name in rows[0] if name not in names]
    columns = [[name, *(_cell(row.get(name)) for row in rows)] for name in names]
    lines, room, narrow = [""] * (len(rows) + 1), shutil.get_terminal_size().columns, []
    for column in columns:
        width = max(map(len, column))
        if len(lines[0]) and len(lines[0]) + width > room:
            narrow.append(column[0])
            continue
        lines = [line + f"{cell:<{width}}{_GAP}" for line, cell in zip(lines, column, strict=True)]
    if narrow:
        lines.append(f"No room for {', '.join(narrow)}: widen the terminal, or use --json.")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None or value == [] or value == "":
        return "-"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_wire(found: Any) -> Any:
    if isinstance(found, Record):
        return found.model_dump(mode="json", by_alias=True)
    return [_as_wire(each) for each in found] if isinstance(found, list) else plain(found)
