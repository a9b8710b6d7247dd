"""manage.py import_epoch FILE...: import CAR epochs into the ledger, resumable at any time."""

import time
from pathlib import Path
from typing import Any

from django.utils import timezone

from ingest.errors import ImportRefused
from ingest.import_command import ImportCommand, ProgressLine
from ingest.services.epochs import EpochProgress, import_epoch
from ingest.services.imports import Imported
from ingest.sources import signatures_of_history

# How often the progress line is drawn, on a terminal and in a log.
_REDRAW_SECONDS = 0.5
_LOG_SECONDS = 60.0


class Command(ImportCommand):
    help = (
        "Import CAR epochs (Old Faithful), plain or zstd, into the ledger. Blocks are committed"
        " run by run: if the command is stopped, run it again with the same file to resume."
    )
    if_stopped = (
        "what was read is in the ledger, except for the last minute:"
        " run the command again to resume"
    )
    unfinished = "imported to their end"
    most_warnings = 5

    def import_one(self, path: Path, options: dict[str, Any]) -> Imported:
        self.line = ProgressLine(_REDRAW_SECONDS, log_seconds=_LOG_SECONDS)
        started = time.monotonic()

        def draw(progress: EpochProgress) -> None:
            share = progress.position / progress.size if progress.size else 1.0
            left = (time.monotonic() - started) * (1 - share) / share if share else 0.0
            self.line.draw(
                f"{path.name[:40]} {share:6.2%}, slot {progress.slot},"
                f" {progress.recorded.recorded:,} blocks, {left / 3_600:.1f} h left"
            )

        return import_epoch(
            path,
            genesis_hash=options["genesis"],
            signatures=signatures_of_history(),
            now=timezone.now,
            progress=draw,
        )

    def if_refused(self, refusal: ImportRefused) -> str:
        return "the blocks before it were imported" if refusal.blocks else "nothing was imported"
