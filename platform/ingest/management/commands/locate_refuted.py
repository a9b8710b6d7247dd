"""Narrows a refuted slot down to accounts: which of them the archive has otherwise than its own
transactions leave them.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from solders.pubkey import Pubkey

from ingest.services.refuted_slots import stream_source
from ingest.sources import streams
from rewind.proof.services import locating
from rewind.proof.services.second_sources import NodeSource, SecondSource, SnapshotSource, Unusable
from upstream.node import Node


class Command(BaseCommand):
    help = (
        "Compares the accounts that a refuted slot wrote with the balances in its block, with"
        " replays of its transactions, and with another source where one is given. With --open-gap"
        " their rows of the slot leave, and the slot is a gap of cause refuted, which is filled"
        " like any other."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slot", type=int)
        parser.add_argument(
            "--open-gap", action="store_true", help="the slot is fetched again, as any gap"
        )
        parser.add_argument(
            "--stream",
            action="store_true",
            help="the followed streams: what their servers still have of the slot",
        )
        parser.add_argument(
            "--node",
            action="append",
            default=[],
            metavar="URL",
            help="a node's JSON-RPC: its newest state of the slot's accounts, where no later slot"
            " wrote them",
        )
        parser.add_argument(
            "--snapshot",
            action="append",
            default=[],
            metavar="FILE",
            type=Path,
            help="a snapshot of that slot, full or incremental",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        slot = options["slot"]
        try:
            found = locating.locate(slot, _others(options))
        except (locating.NotRefuted, Unusable) as fault:
            raise CommandError(str(fault)) from None
        for each in found.suspects:
            self.stdout.write(f"{Pubkey(each.pubkey)}: {each.why}")
        self.stdout.write(
            f"slot {slot}: {len(found.suspects)} accounts differ; {found.replayed} transactions"
            " were replayed"
        )
        for name, count in found.compared.items():
            self.stdout.write(f"{count} accounts were compared with {name}")
        self._write_left_out(found)
        if not options["open_gap"]:
            return
        if locating.open_as_gap(found, now=timezone.now()):
            self.stdout.write(f"slot {slot} is a gap now")
        else:
            raise CommandError("writers were at work for too long; nothing was changed")

    def _write_left_out(self, found: locating.Located) -> None:
        """What the search cannot have found."""
        for reason, names in found.not_compared.items():
            for name in names:
                self.stdout.write(f"not compared: {name}: {reason}")
        if not found.compared:
            self.stdout.write("not compared: writes outside transactions: no other source is named")
        if found.not_compared or not found.compared:
            self.stdout.write("The search is incomplete: other accounts may differ, too.")


def _others(options: dict[str, Any]) -> list[SecondSource]:
    found: list[SecondSource] = [SnapshotSource(path) for path in options["snapshot"]]
    found += [stream_source(each) for each in streams()] if options["stream"] else []
    return found + [NodeSource(Node(url)) for url in options["node"]]
