"""manage.py localnet: a whole small Solana on this machine."""

import logging
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from solders.account import Account
from solders.pubkey import Pubkey

from localnet.account_files import BadAccountFile, account_at, accounts_below
from localnet.cloning import CloneFailed, clone
from localnet.identities import MOST_VALIDATORS
from localnet.ledger import HIGHEST_WARP
from localnet.options import Options
from localnet.process import ChainDiffers, NotWritten, PortTaken, run_localnet
from localnet.program_files import BadProgram, program_accounts
from localnet.storage import FolderTaken

_TICKS_A_SECOND = 160


class Command(BaseCommand):
    help = (
        "Run a small Solana: JSON-RPC, its WebSocket, the Geyser stream, TPU over QUIC and a block"
        " engine, in one process, with its chain in the run directory. It goes on where it stopped."
    )
    requires_system_checks: list[str] = []  # it needs no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reset", "-r", action="store_true", help="delete the chain and start again"
        )
        parser.add_argument(
            "--ledger",
            "-l",
            type=Path,
            default=settings.LOCALNET_DIR,
            metavar="DIR",
            help="the chain's folder; the one of `make run` unless given",
        )
        parser.add_argument(
            "--bind-address", default=settings.LOCALNET_HOST, metavar="HOST", help="to listen on"
        )
        for kind in ("vote", "block"):
            parser.add_argument(
                f"--rpc-pubsub-enable-{kind}-subscription",
                action="store_true",
                help="always so: taken for scripts that start solana-test-validator",
            )
        parser.add_argument(
            "--accounts",
            "--account-dir",
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
            ("block-engine", settings.LOCALNET_BLOCK_ENGINE_PORT, 65_534),  # gRPC on the next
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
        parser.add_argument(
            "--token-2022-mint",
            action=BooleanOptionalAction,
            default=settings.LOCALNET_TOKEN_2022_MINT,
            help="whether Token-2022's native mint is there from the start, which spl-token's own"
            " tests make by a transaction",
        )
        parser.add_argument(
            "--block-engine-auth",
            action=BooleanOptionalAction,
            default=settings.LOCALNET_BLOCK_ENGINE_AUTH,
            help="whether the block engine's gRPC asks searchers for tokens of their keys",
        )
        speed = parser.add_mutually_exclusive_group()
        speed.add_argument("--slot-ms", type=_up_to(60_000), default=settings.LOCALNET_SLOT_MS)
        speed.add_argument(
            "--ticks-per-slot",
            type=_up_to(9_600),
            metavar="TICKS",
            help="the slot's length in ticks of 6.25 ms: 64 are 400 ms",
        )
        _add_contents(parser)
        parser.add_argument(
            "--slots-per-epoch",
            type=_up_to(1_000_000, 32),
            metavar="SLOTS",
            help="of a new chain; one that has begun must have the same",
        )
        parser.add_argument(
            "--warp-slot",
            type=_up_to(HIGHEST_WARP),
            metavar="SLOT",
            help="go on with this slot; those before it are skipped",
        )
        parser.add_argument(
            "--validators",
            type=_up_to(MOST_VALIDATORS),
            metavar="COUNT",
            help="of a new chain, which lead in turns; one that has begun must have as many",
        )
        parser.add_argument("--quiet", "-q", action="store_true", help="print warnings only")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            accounts = _contents(options)
        except (BadAccountFile, BadProgram, CloneFailed, OSError) as error:
            raise CommandError(str(error)) from None
        if options["quiet"]:
            logging.disable(logging.INFO)
        ticks, epoch_slots = options["ticks_per_slot"], options["slots_per_epoch"]
        try:
            run_localnet(
                Options(
                    folder=options["ledger"],
                    host=options["bind_address"],
                    rpc_port=options["rpc_port"],
                    geyser_port=options["geyser_port"],
                    tpu_port=options["tpu_port"],
                    block_engine_port=options["block_engine_port"],
                    slot_seconds=ticks / _TICKS_A_SECOND if ticks else options["slot_ms"] / 1_000,
                    finalized_after=settings.LOCALNET_FINALIZED_AFTER,
                    skip_percent=settings.LOCALNET_SKIP_PERCENT,
                    epoch_slots=epoch_slots or settings.LOCALNET_EPOCH_SLOTS,
                    epoch_slots_given=epoch_slots is not None,
                    validators=options["validators"] or settings.LOCALNET_VALIDATORS,
                    validators_given=options["validators"] is not None,
                    warp_slot=options["warp_slot"],
                    reset=options["reset"],
                    votes=options["votes"],
                    token_2022_mint=options["token_2022_mint"],
                    searcher_tokens=options["block_engine_auth"],
                    accounts=accounts,
                )
            )
        except (FolderTaken, PortTaken, ChainDiffers, NotWritten) as error:
            raise CommandError(str(error)) from None


def _add_contents(parser: ArgumentParser) -> None:
    """What a chain can be given from outside; later ones replace earlier ones at an address."""
    for name, metavar, what in (
        ("--account", ("ADDRESS", "FILE"), "an account's JSON file; - for its own address"),
        ("--bpf-program", ("ADDRESS", "FILE"), "a program's ELF file; or its keypair's file"),
    ):
        parser.add_argument(name, action="append", nargs=2, default=[], metavar=metavar, help=what)
    parser.add_argument(
        "--clone",
        "-c",
        "--clone-upgradeable-program",
        dest="clone",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="copy an account from the chain at --url, a program with its code",
    )
    parser.add_argument("--url", "-u", help="a node, or m, t, d or l, that --clone reads from")


def _contents(options: dict[str, Any]) -> dict[Pubkey, Account]:
    accounts = {}
    if options["clone"]:
        if options["url"] is None:
            raise CloneFailed("--clone: --url is missing")
        accounts.update(clone(options["clone"], options["url"]))
    for folder in options["accounts"]:
        accounts.update(accounts_below(folder))
    for address, file in options["account"]:
        accounts.update((account_at(address, Path(file)),))
    for address, file in options["bpf_program"]:
        accounts.update(program_accounts(address, Path(file)))
    return accounts


def _up_to(highest: int, lowest: int = 1) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal():
            raise ArgumentTypeError(f"expected a number, found {text!r}")
        if not lowest <= int(text) <= highest:
            raise ArgumentTypeError(f"expected {lowest} to {highest}, found {text}")
        return int(text)

    return read
