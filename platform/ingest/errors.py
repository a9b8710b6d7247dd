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
            f"{node} is of another chain: its genesis hash is {found}, what is stored here comes"
            f" from {stored}. Set the upstream back, or keep each chain in a database and a run"
            " directory of its own (DATABASE_URL, TIDEMARK_RUN_DIR)."
        )


class OtherLocalnet(WrongChain):
    """The followed address is the localnet of another installation."""

    def __init__(self, node: str, found: str, own: str) -> None:
        Exception.__init__(
            self,
            f"{node} is the localnet of another installation: its genesis hash is {found}, that of"
            f" the localnet here is {own}. Nothing of it is stored. Stop the other installation, or"
            " choose other ports here: LOCALNET_RPC_PORT, LOCALNET_GEYSER_PORT, LOCALNET_TPU_PORT,"
            " LOCALNET_BLOCK_ENGINE_PORT.",
        )


class ChainBroken(Exception):
    """A stream's chain does not descend from the followed one."""


class AnotherBlock(ChainBroken):
    """A stream finalized another block in a slot than the followed chain."""

    def __init__(self, slot: int, blockhash: str, expected: str) -> None:
        super().__init__(
            f"its block {slot} is {blockhash}, and {expected} on the chain that is followed:"
            " this is another chain"
        )


class OtherChain(Exception):
    """A file of another chain than the stored one, or of an unknown one; the text is a reason
    without the file's name.
    """


def other_genesis(found: str, stored: str) -> OtherChain:
    return OtherChain(
        f"it is of another chain: its genesis hash is {found}, what is stored here comes from"
        f" {stored}. Keep each chain in a database and a run directory of its own (DATABASE_URL,"
        " TIDEMARK_RUN_DIR)"
    )


def unknown_chain(stored: str) -> OtherChain:
    """The chain of a file is unknown; `stored` is the stored genesis hash, or empty."""
    if stored:
        return OtherChain(
            "nothing shows that it is of the chain that is stored here: it links to nothing that"
            f" is stored. If it is, say so with --genesis {stored}"
        )
    return OtherChain(
        "nothing says which chain it is of, and nothing is stored yet that would: name its genesis"
        " hash, or mainnet, testnet or devnet, with --genesis"
    )
