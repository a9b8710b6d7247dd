"""Queries: the chain of the stored data, and what proves it."""

from collections.abc import Iterator
from datetime import datetime

from ingest.models import StoredChain
from rewind.baselines.models import Baseline
from rewind.models import ArchiveState


def genesis_hash() -> str:
    """Of the stored chain; empty while it is unknown."""
    found = StoredChain.objects.values_list("genesis_hash", flat=True).first()
    if found is None:
        # Databases from before the table have it in the archive's state.
        found = ArchiveState.objects.values_list("filters_set_for", flat=True).first()
    return found or ""


def claim(genesis_hash: str, *, source: str, now: datetime) -> str:
    """Stores the genesis hash unless one is stored, and returns the stored one. The second of two
    concurrent claims waits for the first.
    """
    row, _ = StoredChain.objects.get_or_create(
        id=1, defaults={"genesis_hash": genesis_hash, "source": source, "claimed_at": now}
    )
    return str(row.genesis_hash)


def baseline_blocks() -> Iterator[tuple[int, bytes]]:
    """(block height, blockhash) of each baseline that has both."""
    for height, blockhash in Baseline.objects.values_list("block_height", "blockhash"):
        if height is not None and blockhash is not None:
            yield height, bytes(blockhash)
