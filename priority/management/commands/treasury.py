"""manage.py treasury: shows the treasury's balance, and pays lamports from it."""

import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.signature import Signature

from priority.acceptance.errors import NOT_ACCEPTED
from priority.treasury.services import payments
from upstream.node import Node, NodeError

_PATIENCE_SECONDS = 120.0


class Command(BaseCommand):
    help = "Show the treasury, where sweeps go, or move lamports out of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--send",
            nargs=2,
            metavar=("ADDRESS", "LAMPORTS"),
            help="send so many lamports there; only where the treasury is of TIP_SECRET_SEED",
        )

    def handle(self, *_args: Any, send: list[str] | None, **_options: Any) -> None:
        if not settings.UPSTREAM_RPC_URL:
            raise CommandError("UPSTREAM_RPC_URL is empty: no node reports what the treasury holds")
        node = Node(settings.UPSTREAM_RPC_URL)
        try:
            if send is None:
                self._show(node)
            else:
                self._send(node, *send)
        except (NodeError, *NOT_ACCEPTED) as error:
            raise CommandError(str(error)) from None

    def _show(self, node: Node) -> None:
        found = payments.treasury_of(
            settings.TREASURY_ADDRESS, seed=settings.TIP_SECRET_SEED, node=node
        )
        whose = "made from TIP_SECRET_SEED" if found.is_ours else "not of TIP_SECRET_SEED"
        self.stdout.write(f"{found.address}, {whose}")
        self.stdout.write(f"{found.by_node:>24,} lamports on chain, finalized at {found.slot}")
        self.stdout.write(f"{found.by_ledger:>24,} lamports by the ledger of tips")
        if found.by_node != found.by_ledger:
            self.stdout.write(
                f"{found.by_node - found.by_ledger:>+24,} not in the ledger: held before, or in"
                " blocks that are not stored yet"
            )

    def _send(self, node: Node, address: str, lamports: str) -> None:
        try:
            to = Pubkey.from_string(address)
        except ValueError:
            raise CommandError(f"{address}: expected an address in base58") from None
        digits = lamports.replace(",", "").replace("_", "")
        if not digits.isascii() or not digits.isdecimal():
            raise CommandError(f"{lamports}: expected a number of lamports")
        try:
            signature = payments.pay(
                to,
                int(digits),
                address=settings.TREASURY_ADDRESS,
                seed=settings.TIP_SECRET_SEED,
                node=node,
                now=timezone.now(),
            )
        except payments.PaymentRefused as refusal:
            raise CommandError(f"Not sent: {refusal}.") from None
        self.stdout.write(f"{signature} waits to be sent")
        self._await(signature)

    def _await(self, signature: Signature) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            row = payments.fate_of(signature)
            if row is not None and row.settled_at is not None:
                if row.state != "landed":
                    raise CommandError(f"{row.state}: {row.reason or row.err}")
                self.stdout.write(f"landed in slot {row.slot}, finalized")
                return
            time.sleep(0.5)
        raise CommandError(
            "Its fate is not known yet. It may still land: look it up before it is sent again."
        )
