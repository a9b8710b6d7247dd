"""Errors of ingest."""

from pathlib import Path

from staff import errors


class ImportRefused(Exception):
    """A file that was not imported, or not completely. The text names the file, the position in it
    and the reason; `blocks` of it are in the ledger.
    """

    def __init__(self, path: Path, reason: str, *, blocks: int = 0) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason
        self.blocks = blocks


class ActionRefused(errors.ActionRefused):
    """An order over a range of slots that cannot be accepted; the text is for the user."""


class WrongChain(Exception):
    """The upstream follows another chain than the stored one."""

    def __init__(self, node: str, found: str, stored: str) -> None:
        super().__init__(
            f"{node} follows another chain: its genesis hash is {found}, and the stored data comes"
            f" from {stored}. Set the upstream back, or keep each chain in a database and a run"
            " directory of its own (DATABASE_URL, TIDEMARK_RUN_DIR)."
        )


class OtherLocalnet(WrongChain):
    """The followed address is the localnet of another installation."""

    def __init__(self, node: str, found: str, own: str) -> None:
        Exception.__init__(
            self,
            f"{node} is the localnet of another installation: its genesis hash is {found}, that of"
            f" the localnet here is {own}. It is not stored. Stop the other installation, or"
            " choose other ports here: LOCALNET_RPC_PORT, LOCALNET_GEYSER_PORT, LOCALNET_TPU_PORT,"
            " LOCALNET_BLOCK_ENGINE_PORT.",
        )


class ChainBroken(Exception):
    """A stream's chain does not descend from the followed one."""


class AnotherBlock(ChainBroken):
    """A stream finalized another block in a slot than the followed chain."""

    def __init__(self, slot: int, blockhash: str, expected: str) -> None:
        super().__init__(
            f"its block {slot} is {blockhash}, and {expected} on the followed chain:"
            " this is another chain"
        )


class OtherChain(Exception):
    """A file of another chain than the stored one, or of an unknown one; the text is a reason
    without the file's name.
    """


def other_genesis(found: str, stored: str) -> OtherChain:
    return OtherChain(
        f"it is from another chain: its genesis hash is {found}, and the stored data comes from"
        f" {stored}. Keep each chain in a database and a run directory of its own (DATABASE_URL,"
        " TIDEMARK_RUN_DIR)"
    )


def unknown_chain(stored: str) -> OtherChain:
    """The chain of a file is unknown; `stored` is the stored genesis hash, or empty."""
    if stored:
        return OtherChain(
            "it may be from another chain, because it links to no stored block. If it is from the"
            f" stored chain, add --genesis {stored}"
        )
    return OtherChain(
        "its chain is unknown, and no block is stored yet: name its genesis hash, or mainnet,"
        " testnet or devnet, with --genesis"
    )
