"""Genesis hashes by the names that operators use."""

from django.core.management.base import CommandError, CommandParser
from solders.pubkey import Pubkey

from rewind.recording.services.filters import MAINNET_GENESIS_HASH

NAMES = {
    "mainnet": MAINNET_GENESIS_HASH,
    "testnet": "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY",
    "devnet": "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
}


def add_genesis(parser: CommandParser) -> None:
    parser.add_argument(
        "--genesis",
        type=_genesis_hash,
        metavar="HASH",
        help="the genesis hash of the chain that the file is of, or mainnet, testnet, devnet",
    )


def _genesis_hash(text: str) -> str:
    if text in NAMES:
        return NAMES[text]
    try:
        # Hashes and keys are both 32 bytes, but only Pubkey raises ValueError.
        return str(Pubkey.from_string(text))
    except ValueError:
        raise CommandError(
            f"--genesis {text}: neither a genesis hash nor one of {', '.join(NAMES)}"
        ) from None
