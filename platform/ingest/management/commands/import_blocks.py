"""manage.py import_blocks FILE...: import blocks into the ledger."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from ingest.errors import ImportRefused
from ingest.import_command import ImportCommand, ProgressLine
from ingest.services.imports import Imported, import_file
from ingest.sources import signatures_of_history

_BAR_WIDTH = 30
_REDRAW_SECONDS = 0.1


class Command(ImportCommand):
    help = (
        "Import blocks into the ledger: getBlock JSON (a response, an array of them, one a line,"
        " notifications of blockSubscribe; encoding json or base64), ConfirmedBlock or"
        " SubscribeUpdateBlock protobuf, dbin, or CAR; plain, gzip or zstd. Importing a file again"
        " changes nothing."
    )
    if_stopped = "nothing of this file was imported"
    unfinished = "imported, or not completely"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--slot",
            type=int,
            help="the slot of a single block whose file does not name it (getBlock JSON, protobuf)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["slot"] is not None and len(options["files"]) > 1:
            raise CommandError("--slot names one block: give one file with it")
        super().handle(*args, **options)

    def import_one(self, path: Path, options: dict[str, Any]) -> Imported:
        self.line = ProgressLine(_REDRAW_SECONDS)

        def draw(position: int, size: int) -> None:
            share = position / size if size else 1.0
            filled = int(share * _BAR_WIDTH)
            bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
            self.line.draw(f"{path.name[:40]} [{bar}] {share:4.0%}")

        return import_file(
            path,
            slot=options["slot"],
            genesis_hash=options["genesis"],
            signatures=signatures_of_history(),
            now=timezone.now,
            progress=draw,
        )

    def if_refused(self, refusal: ImportRefused) -> str:
        return self.if_stopped
