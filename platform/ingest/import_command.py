"""Shared code of the commands that import files: their line of progress, and what they report."""

import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ingest.errors import ImportRefused
from ingest.known_chains import add_genesis
from ingest.services.imports import Imported
from staff.formatting import counted


class ProgressLine:
    """How far a command is, on standard error: on a terminal one line that is drawn again after
    `seconds`, elsewhere a line every `log_seconds`; 0 writes none there.
    """

    def __init__(self, seconds: float, *, log_seconds: float = 0.0) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._pause = seconds if self._is_terminal else log_seconds
        self._drawn = time.monotonic()

    def draw(self, text: str) -> None:
        now = time.monotonic()
        if not self._pause or now - self._drawn < self._pause:
            return
        self._drawn = now
        sys.stderr.write(f"\r\x1b[K{text}" if self._is_terminal else f"{text}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line from the terminal."""
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")


class ImportCommand(BaseCommand):
    """Imports files of blocks one by one, and reports what was stored of each."""

    if_stopped: ClassVar[str]
    # What did not happen to the files that are counted at the end.
    unfinished: ClassVar[str]
    most_warnings: ClassVar[int] = sys.maxsize
    line: ProgressLine

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        add_genesis(parser)

    def import_one(self, path: Path, options: dict[str, Any]) -> Imported:
        """Raises ImportRefused."""
        raise NotImplementedError

    def if_refused(self, refusal: ImportRefused) -> str:
        """What the ledger has of the file."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        files: list[Path] = options["files"]
        refused = 0
        for path in files:
            try:
                refused += not self._import(path, options)
            except KeyboardInterrupt:
                self.line.clear()
                self.stderr.write(f"{path}: stopped; {self.if_stopped}")
                raise SystemExit(130) from None
        if refused:
            raise CommandError(f"{refused} of {len(files)} files were not {self.unfinished}")

    def _import(self, path: Path, options: dict[str, Any]) -> bool:
        """True if the whole file is in the ledger."""
        started = time.monotonic()
        try:
            recorded, warnings, not_taken = self.import_one(path, options)
        except ImportRefused as error:
            self.line.clear()
            self.stderr.write(self.style.ERROR(f"{error}\n  {self.if_refused(error)}"))
            return False
        self.line.clear()
        seconds = max(time.monotonic() - started, 1e-6)
        for warning in warnings[: self.most_warnings]:
            self.stderr.write(self.style.WARNING(f"{path}: {warning}"))
        if (more := len(warnings) - self.most_warnings) > 0:
            self.stderr.write(self.style.WARNING(f"{path}: {more:,} more slots were not imported"))
        slots = (
            ""
            if recorded.first_slot is None
            else f", slots {recorded.first_slot} to {recorded.last_slot}"
        )
        present = f", {recorded.present:,} there already" if recorded.present else ""
        rate = f" ({recorded.transactions / seconds:,.0f} a second)" if recorded.recorded else ""
        self.stdout.write(
            f"{path}: {counted(recorded.recorded, 'block')} imported with"
            f" {counted(recorded.transactions, 'transaction')}{present}{slots}{rate}"
        )
        if not_taken:
            missing = f"{counted(not_taken, 'block')} of this file could not be imported"
            self.stderr.write(self.style.ERROR(f"{path}: {missing}"))
        return not not_taken
