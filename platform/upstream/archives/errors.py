"""Errors of readers of block files, with position and reason."""

from pathlib import Path


class _BadFile(Exception):
    """One sentence of path, place and reason. `place` leads to the fault, outermost first: `block 3
    (slot 55065002), transactions[17].meta`.
    """

    def __init__(self, path: Path, place: str, reason: str) -> None:
        super().__init__(": ".join(part for part in (str(path), place, reason) if part))
        self.path = path
        self.place = place
        self.reason = reason


class BadBlockFile(_BadFile):
    """The file cannot be read as blocks."""


class BadSnapshot(_BadFile):
    """The file cannot be read as accounts."""


class Unreadable(Exception):
    """A fault somewhere inside a file; callers prepend what they know to `place`."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason

    def inside(self, surroundings: str) -> "Unreadable":
        """The same fault, with an outer place prepended."""
        return Unreadable(", ".join(filter(None, (surroundings, self.place))), self.reason)
