"""What the supervisor prints: the lines of its programs, for people or as JSON objects."""

import json
from collections.abc import Collection
from datetime import UTC, datetime
from io import TextIOBase
from itertools import cycle
from typing import Protocol

from config.output.json_lines import time_of

# Foreground colours of ECMA-48: cyan, yellow, green, magenta, red, blue; then the same, bold.
_COLOURS = [f"{number}{bold}" for bold in ("", ";1") for number in (36, 33, 32, 35, 31, 34)]


class Printer(Protocol):
    """Prints a line of the program of that name."""

    def write(self, text: str, name: str) -> None: ...


class LinePrinter:
    """`12:34:56 web | text`, in a colour for each program where the output is a terminal."""

    def __init__(self, output: TextIOBase, names: Collection[str]) -> None:
        self._output = output
        self._colours = dict(zip(names, cycle(_COLOURS), strict=False)) if output.isatty() else {}
        self._width = max(map(len, names), default=0)

    def write(self, text: str, name: str) -> None:
        prefix = f"{datetime.now():%H:%M:%S} {name.ljust(self._width)} | "
        if colour := self._colours.get(name):
            prefix = f"\x1b[0m\x1b[{colour}m{prefix}\x1b[0m"
        for each in text.splitlines():
            self._output.write(f"{prefix}{each}\n")
            self._output.flush()


class JsonPrinter:
    """One object a line: objects pass as they are, any other line becomes one."""

    def __init__(self, output: TextIOBase) -> None:
        self._output = output

    def write(self, text: str, name: str) -> None:
        self._output.write(f"{text if _is_object(text) else line(text, process=name)}\n")
        self._output.flush()


def line(text: str, *, process: str, level: str = "INFO") -> str:
    """A text as an object of the same members."""
    members = {
        "time": time_of(datetime.now(UTC)),
        "level": level,
        "logger": "",
        "process": process,
        "message": text,
    }
    return json.dumps(members, ensure_ascii=False)


def _is_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
