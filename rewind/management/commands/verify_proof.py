"""manage.py verify_proof FILE: checks what getSlotProof gave, without database or network."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chain.verify_proof import FILE_HELP, HELP, STAKES_HELP, verify


class Command(BaseCommand):
    help = HELP
    requires_system_checks: list[str] = []  # it needs no database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="FILE", help=FILE_HELP)
        parser.add_argument("--stakes", type=Path, metavar="FILE", help=STAKES_HELP)

    def handle(self, *_: Any, **options: Any) -> None:
        outcome = verify(options["path"], options["stakes"])
        for line in outcome.lines:
            self.stdout.write(line)
        if outcome.why:
            raise CommandError(outcome.why, returncode=outcome.code)
