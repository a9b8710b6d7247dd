"""The ledger that the tests of this folder read: real mainnet blocks, imported once."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

FILES = {
    254170887: "mainnet-254170887.base64.json.gz",
    332254855: "mainnet-332254855.confirmedblock.pb.zst",
    18144001: "mainnet-18144001.confirmedblock.pb",
    43200: "mainnet-43200.confirmedblock.pb",
    43200000: "mainnet-43200000.confirmedblock.pb.zst",
    147078735: "solders-147078735.json.json.gz",
    55065000: "mainnet-55065000-55065099.dbin.zst",
    1: "mainnet-genesis-1-194.tar.zst",
    100000000: "chainstorage/client/block.json",
    1021085: "chainstorage/client/block_without_parent_hash.json",
    154808473: "chainstorage/parser/block_with_versioned_tx.json",
}


def import_path(path: Path, slot: int | None = None) -> Any:
    from ingest.services.imports import import_file

    return import_file(
        path, slot=slot, now=lambda: datetime.now(UTC), progress=lambda position, size: None
    )


@pytest.fixture(scope="session")
def real_blocks(fixtures: Path, django_db_setup: None, django_db_blocker: Any) -> Path:
    """Every importable block file is in the ledger, committed once for the whole session: tests
    that use the database in a transaction come before those that empty it.
    """
    folder = fixtures / "blocks"
    with django_db_blocker.unblock():
        for name in FILES.values():
            import_path(folder / name)
    return folder


@pytest.fixture
def real_ledger(real_blocks: Path, db: None) -> Path:
    """The ledger of real blocks; what a test writes is rolled back. Gives the files' folder."""
    return real_blocks
