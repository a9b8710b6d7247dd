"""manage.py remove_blocks FIRST LAST: remove blocks from the ledger."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chain.units import I64_MAX
from historical.recording.services.removal import remove_blocks
from staff.formatting import counted


class Command(BaseCommand):
    help = "Remove the blocks of the slots FIRST to LAST, both inclusive, from the ledger."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("first", type=int, metavar="FIRST")
        parser.add_argument("last", type=int, metavar="LAST")

    def handle(self, *args: Any, **options: Any) -> None:
        first, last = options["first"], options["last"]
        if not 0 <= first <= last <= I64_MAX:
            raise CommandError("expected 0 <= FIRST <= LAST")
        removed = remove_blocks(first, last)
        self.stdout.write(f"{counted(removed, 'block')} removed")
