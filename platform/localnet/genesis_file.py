"""The genesis hash of the chain in localnet's folder, in a file that other processes can read."""

from pathlib import Path

from solders.hash import Hash

_NAME = "genesis-hash"


def write_genesis_hash(folder: Path, genesis_hash: Hash) -> None:
    """OSError."""
    written = folder / f"{_NAME}.new"
    written.write_text(f"{genesis_hash}\n")
    written.replace(folder / _NAME)


def genesis_hash_in(folder: Path) -> str | None:
    """None before localnet has begun a chain there. OSError."""
    try:
        return (folder / _NAME).read_text().strip() or None
    except FileNotFoundError:
        return None
