"""manage.py import_blocks FILE...: import blocks into the ledger."""

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from ingest import signature_policy
from ingest.errors import ImportRefused
from ingest.known_chains import add_genesis
from ingest.services.imports import Progress, import_file

_BAR_WIDTH = 30
_REDRAW_SECONDS = 0.1


class Command(BaseCommand):
    help = (
        "Import blocks into the ledger: getBlock JSON (a response, an array of them, one a line,"
        " notifications of blockSubscribe; encoding json or base64), ConfirmedBlock or"
        " SubscribeUpdateBlock protobuf, dbin, or CAR; plain, gzip or zstd. Importing a file again"
        " changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument(
            "--slot",
            type=int,
            help="the slot of a single block whose file does not name it (getBlock JSON, protobuf)",
        )

        add_genesis(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        files: list[Path] = options["files"]
        if options["slot"] is not None and len(files) > 1:
            raise CommandError("--slot names one block: give one file with it")
        refused = 0
        for path in files:
            try:
                refused += not self._import(path, options["slot"], options["genesis"])
            except KeyboardInterrupt:
                _clear()
                self.stderr.write(f"{path}: stopped; nothing of this file was imported")
                raise SystemExit(130) from None
        if refused:
            raise CommandError(
                f"{refused} of {len(files)} files were not imported, or not completely"
            )

    def _import(self, path: Path, slot: int | None, genesis_hash: str | None) -> bool:
        """True if the whole file is in the ledger."""
        started = time.monotonic()
        bar = _bar(path.name)
        try:
            recorded, warnings, not_taken = import_file(
                path,
                slot=slot,
                genesis_hash=genesis_hash,
                signatures=signature_policy.of_history(),
                now=timezone.now,
                progress=bar,
            )
        except ImportRefused as error:
            _clear()
            self.stderr.write(self.style.ERROR(f"{error}\n  nothing of this file was imported"))
            return False
        _clear()
        seconds = max(time.monotonic() - started, 1e-6)
        for warning in warnings:
            self.stderr.write(self.style.WARNING(f"{path}: {warning}"))
        slots = (
            ""
            if recorded.first_slot is None
            else f", slots {recorded.first_slot} to {recorded.last_slot}"
        )
        present = f", {recorded.present} there already" if recorded.present else ""
        rate = f" ({recorded.transactions / seconds:,.0f} a second)" if recorded.recorded else ""
        self.stdout.write(
            f"{path}: {_count(recorded.recorded, 'block')} imported with"
            f" {_count(recorded.transactions, 'transaction')}{present}{slots}{rate}"
        )
        if not_taken:
            missing = f"{_count(not_taken, 'block')} of this file could not be imported"
            self.stderr.write(self.style.ERROR(f"{path}: {missing}"))
        return not not_taken


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _bar(name: str) -> Progress:
    drawn = 0.0

    def draw(position: int, size: int) -> None:
        nonlocal drawn
        if not sys.stderr.isatty() or time.monotonic() - drawn < _REDRAW_SECONDS:
            return
        drawn = time.monotonic()
        share = position / size if size else 1.0
        filled = int(share * _BAR_WIDTH)
        bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
        sys.stderr.write(f"\r{name[:40]} [{bar}] {share:4.0%}")
        sys.stderr.flush()

    return draw


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
