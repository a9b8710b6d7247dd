"""The ledger that the tests of this folder read: real mainnet blocks, imported once."""

from collections.abc import Callable
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

Import = Callable[..., Any]


def import_path(path: Path, slot: int | None = None) -> Any:
    from ingest.services import import_file

    return import_file(
        path, slot=slot, now=lambda: datetime.now(UTC), progress=lambda position, size: None
    )


@pytest.fixture
def real_ledger(
    request: pytest.FixtureRequest, fixtures: Path, django_db_setup: None, django_db_blocker: Any
) -> Path:
    """Every importable block file is in the ledger, committed: tests read it, and what they write
    is rolled back. The folder of the files is what the fixture gives.
    """
    folder = fixtures / "blocks"
    with django_db_blocker.unblock():
        from historical.models import Block

        present = set(Block.objects.filter(slot__in=FILES).values_list("slot", flat=True))
        for slot, name in FILES.items():
            if slot not in present:
                import_path(folder / name)
    request.getfixturevalue("db")
    return folder
