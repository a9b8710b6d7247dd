"""What ingest refuses."""

from pathlib import Path


class ImportRefused(Exception):
    """A file that was not brought in, or not to its end. The text names the file, the place in it
    and the reason; `blocks` of it are in the ledger.
    """

    def __init__(self, path: Path, reason: str, *, blocks: int = 0) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason
        self.blocks = blocks


class OrderRefused(Exception):
    """An order over a range of slots that cannot be taken; the text is for who asked."""


class WrongChain(Exception):
    """The upstream is of another chain than the one that is stored."""

    def __init__(self, node: str, found: str, stored: str) -> None:
        super().__init__(
            f"{node} is of another chain: its genesis hash is {found}, what is stored here comes"
            f" from {stored}. Set the upstream back, or keep each chain in a database and a run"
            " directory of its own (DATABASE_URL, TIDEMARK_RUN_DIR)."
        )


class ChainBroken(Exception):
    """A stream's chain does not descend from what was followed, or is another one."""


class AnotherBlock(ChainBroken):
    """A stream finalized another block in a slot than the chain that is followed."""

    def __init__(self, slot: int, blockhash: str, expected: str) -> None:
        super().__init__(
            f"its block {slot} is {blockhash}, and {expected} on the chain that is followed:"
            " this is another chain"
        )
