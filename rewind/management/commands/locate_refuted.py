"""Narrows a refuted slot down to accounts: which of them the archive has otherwise than its own
transactions leave them.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from solders.pubkey import Pubkey

from rewind.services import locating


class Command(BaseCommand):
    help = (
        "Compares the accounts that a refuted slot wrote with the balances in its block and with"
        " replays of its transactions. With --open-gap their rows of the slot leave, and the slot"
        " is a gap of cause refuted, which is filled like any other."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slot", type=int)
        parser.add_argument(
            "--open-gap", action="store_true", help="the slot is fetched again, as any gap"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        slot = options["slot"]
        try:
            found = locating.locate(slot)
        except locating.NotRefuted as fault:
            raise CommandError(str(fault)) from None
        for each in found.suspects:
            self.stdout.write(f"{Pubkey(each.pubkey)}: {each.why}")
        self.stdout.write(
            f"slot {slot}: {len(found.suspects)} accounts differ; {found.replayed} transactions"
            f" were replayed, {found.unverified} could not be"
        )
        if not options["open_gap"]:
            return
        if locating.open_as_gap(found, now=timezone.now()):
            self.stdout.write(f"slot {slot} is a gap now")
        else:
            raise CommandError("writers were at work for too long; nothing was changed")
