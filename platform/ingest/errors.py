"""What an import can refuse."""

from pathlib import Path


class ImportRefused(Exception):
    """A file that was not brought in: nothing of it is in the ledger. The text names the file, the
    place in it and the reason.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason
