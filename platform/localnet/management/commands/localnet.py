"""manage.py localnet: a whole small Solana on this machine."""

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from localnet.account_files import BadAccountFile, accounts_below
from localnet.options import Options
from localnet.process import PortTaken, run_localnet
from localnet.storage import FolderTaken


class Command(BaseCommand):
    help = (
        "Run a small Solana: JSON-RPC, its WebSocket, the Geyser stream, TPU over QUIC and a block"
        " engine, in one process, with its chain in the run directory. It goes on where it stopped."
    )
    requires_system_checks: list[str] = []  # it needs no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reset", action="store_true", help="delete the chain and start again")
        parser.add_argument(
            "--accounts",
            action="append",
            type=Path,
            default=[],
            metavar="DIR",
            help="account JSON files to load into genesis, or into the next block of a chain that"
            " has begun; may be given again",
        )
        for name, port, highest in (
            ("rpc", settings.LOCALNET_RPC_PORT, 65_534),  # the WebSocket is on the next
            ("geyser", settings.LOCALNET_GEYSER_PORT, 65_535),
            ("tpu", settings.LOCALNET_TPU_PORT, 65_535),
            ("block-engine", settings.LOCALNET_BLOCK_ENGINE_PORT, 65_535),
        ):
            parser.add_argument(
                f"--{name}-port", type=_up_to(highest), default=port, metavar="PORT"
            )
        parser.add_argument(
            "--votes",
            action=BooleanOptionalAction,
            default=settings.LOCALNET_VOTES,
            help="whether each validator votes for every block, by a transaction in the next one",
        )
        parser.add_argument("--slot-ms", type=_up_to(60_000), default=settings.LOCALNET_SLOT_MS)

    def handle(self, *args: Any, **options: Any) -> None:
        accounts = {}
        try:
            for folder in options["accounts"]:
                accounts.update(accounts_below(folder))
        except (BadAccountFile, OSError) as error:
            raise CommandError(str(error)) from None
        try:
            run_localnet(
                Options(
                    folder=settings.LOCALNET_DIR,
                    host=settings.LOCALNET_HOST,
                    rpc_port=options["rpc_port"],
                    geyser_port=options["geyser_port"],
                    tpu_port=options["tpu_port"],
                    block_engine_port=options["block_engine_port"],
                    slot_seconds=options["slot_ms"] / 1_000,
                    finalized_after=settings.LOCALNET_FINALIZED_AFTER,
                    skip_percent=settings.LOCALNET_SKIP_PERCENT,
                    epoch_slots=settings.LOCALNET_EPOCH_SLOTS,
                    reset=options["reset"],
                    votes=options["votes"],
                    accounts=accounts,
                )
            )
        except (FolderTaken, PortTaken) as error:
            raise CommandError(str(error)) from None


def _up_to(highest: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal():
            raise ArgumentTypeError(f"expected a number, found {text!r}")
        if not 1 <= int(text) <= highest:
            raise ArgumentTypeError(f"expected 1 to {highest}, found {text}")
        return int(text)

    return read
