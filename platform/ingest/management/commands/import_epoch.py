"""manage.py import_epoch FILE...: import CAR epochs into the ledger, resumable at any time."""

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from ingest import signature_policy
from ingest.errors import ImportRefused
from ingest.known_chains import add_genesis
from ingest.services.epochs import EpochProgress, Progress, import_epoch

# How often the progress line is drawn, on a terminal and in a log.
_REDRAW_SECONDS = 0.5
_LOG_SECONDS = 60.0
_WARNINGS_SHOWN = 5


class Command(BaseCommand):
    help = (
        "Import CAR epochs (Old Faithful), plain or zstd, into the ledger. Blocks are committed"
        " run by run: if the command is stopped, run it again with the same file to resume."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        add_genesis(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        files: list[Path] = options["files"]
        refused = 0
        for path in files:
            try:
                refused += not self._import(path, options["genesis"])
            except KeyboardInterrupt:
                _clear()
                self.stderr.write(
                    f"{path}: stopped; what was read is in the ledger, except for the last minute:"
                    " run the command again to resume"
                )
                raise SystemExit(130) from None
        if refused:
            raise CommandError(f"{refused} of {len(files)} files were not imported to their end")

    def _import(self, path: Path, genesis_hash: str | None) -> bool:
        """True if the whole file is in the ledger."""
        started = time.monotonic()
        try:
            recorded, warnings, not_taken = import_epoch(
                path,
                genesis_hash=genesis_hash,
                signatures=signature_policy.of_history(),
                now=timezone.now,
                progress=_line(path.name),
            )
        except ImportRefused as error:
            _clear()
            left = "the blocks before it were imported" if error.blocks else "nothing was imported"
            self.stderr.write(self.style.ERROR(f"{error}\n  {left}"))
            return False
        _clear()
        for warning in warnings[:_WARNINGS_SHOWN]:
            self.stderr.write(self.style.WARNING(f"{path}: {warning}"))
        if len(warnings) > _WARNINGS_SHOWN:
            more = len(warnings) - _WARNINGS_SHOWN
            self.stderr.write(self.style.WARNING(f"{path}: {more:,} more slots were not imported"))
        seconds = max(time.monotonic() - started, 1e-6)
        slots = (
            ""
            if recorded.first_slot is None
            else f", slots {recorded.first_slot} to {recorded.last_slot}"
        )
        present = f", {recorded.present:,} there already" if recorded.present else ""
        self.stdout.write(
            f"{path}: {recorded.recorded:,} blocks imported with {recorded.transactions:,}"
            f" transactions{present}{slots} ({recorded.transactions / seconds:,.0f} a second)"
        )
        if not_taken:
            blocks = "block" if not_taken == 1 else "blocks"
            missing = f"{not_taken:,} {blocks} of this file could not be imported"
            self.stderr.write(self.style.ERROR(f"{path}: {missing}"))
        return not not_taken


def _line(name: str) -> Progress:
    terminal = sys.stderr.isatty()
    started = drawn = time.monotonic()
    pause = _REDRAW_SECONDS if terminal else _LOG_SECONDS

    def draw(progress: EpochProgress) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - drawn < pause:
            return
        drawn = now
        share = progress.position / progress.size if progress.size else 1.0
        left = (now - started) * (1 - share) / share if share else 0.0
        line = (
            f"{name[:40]} {share:6.2%}, slot {progress.slot},"
            f" {progress.recorded.recorded:,} blocks, {left / 3_600:.1f} h left"
        )
        sys.stderr.write(f"\r\x1b[K{line}" if terminal else f"{line}\n")
        sys.stderr.flush()

    return draw


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
