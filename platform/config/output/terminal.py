"""Terminals: what others wrote reaches them without sequences that steer them."""

import io
import re
import sys
from typing import TextIO

from chain.shown_text import visible

# Colours, and what our own lines of progress begin with.
_OURS = re.compile(r"(\x1b\[[\d;]*m|\r\x1b\[K|\r)")


class Terminal(io.TextIOWrapper):
    """Writes characters that are not seen as \\xNN, except for colours and lines of progress."""

    _plain: TextIO

    @classmethod
    def of(cls, stream: TextIO) -> "Terminal":
        found = cls(
            stream.buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=True
        )
        found._plain = stream  # which would close what both write to
        return found

    def write(self, text: str) -> int:
        return super().write(shown(text))


def guard() -> None:
    """Standard output and error of a command, where they are a terminal."""
    if sys.stdout.isatty():
        sys.stdout = Terminal.of(sys.stdout)
    if sys.stderr.isatty():
        sys.stderr = Terminal.of(sys.stderr)


def shown(text: str) -> str:
    """A text for a terminal."""
    parts = _OURS.split(text)
    parts[::2] = map(visible, parts[::2])
    return "".join(parts)
