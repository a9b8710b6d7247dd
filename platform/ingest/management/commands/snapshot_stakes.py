"""manage.py snapshot_stakes SNAPSHOT: prints stakes and voters for verify_proof, without database
or network.
"""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from upstream.archives.errors import BadSnapshot
from upstream.snapshot_stakes import EPOCH_HELP, FILE_HELP, HELP, NoStakes, snapshot_stakes


class Command(BaseCommand):
    help = HELP
    requires_system_checks: list[str] = []  # it needs no database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="SNAPSHOT", help=FILE_HELP)
        parser.add_argument("--epoch", type=int, help=EPOCH_HELP)

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            found = snapshot_stakes(options["path"], options["epoch"])
        except (BadSnapshot, NoStakes, OSError) as fault:
            raise CommandError(str(fault)) from fault
        for line in found.lines:
            self.stderr.write(line)
        self.stdout.write(found.text.decode(), ending="")
