"""What ingest refuses."""

from pathlib import Path


class ImportRefused(Exception):
    """A file that was not brought in: nothing of it is in the ledger. The text names the file, the
    place in it and the reason.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class WrongChain(Exception):
    """The upstream is of another chain than the one that is stored."""

    def __init__(self, node: str, found: str, stored: str) -> None:
        super().__init__(
            f"{node} is of another chain: its genesis hash is {found}, what is stored here comes"
            f" from {stored}. Set the upstream back, or keep each chain in a database and a run"
            " directory of its own (DATABASE_URL, TIDEMARK_RUN_DIR). After a reset of localnet:"
            " stop the service, remove the run directory (.run), start again."
        )
