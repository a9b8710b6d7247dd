"""The ledger that the tests of this folder read: real mainnet blocks, imported once."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests import shared

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
    """The files are of several chains, whose slots lie far apart; all are told to be of one."""
    from ingest.services.imports import import_file

    return import_file(
        path,
        slot=slot,
        genesis_hash="a chain",
        now=lambda: datetime.now(UTC),
        progress=lambda position, size: None,
    )


@pytest.fixture
def posted(client: Any, api_key: str) -> Callable[..., Any]:
    """`posted(method, *params)` → the response of a call, with its headers."""

    def post(method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        return client.post(
            "/historical",
            json.dumps(body),
            content_type="application/json",
            headers={"Authorization": api_key},
        )

    return post


@pytest.fixture(scope="module")
def real_blocks(
    request: pytest.FixtureRequest,
    fixtures: Path,
    django_db_setup: None,
    django_db_blocker: Any,
) -> Path:
    """Every importable block file is in the ledger, committed once for this folder's tests."""
    folder = fixtures / "blocks"

    def make() -> Iterator[Path]:
        database = connection.settings_dict["NAME"]
        with django_db_blocker.unblock():
            empty = empty_tables()
            for name in FILES.values():
                import_path(folder / name)
        yield folder
        if connection.settings_dict["NAME"] != database:
            return  # gone, with the session
        # Tests of other folders find what these found: nothing.
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {', '.join(empty)} CASCADE")

    return shared.value_of(request, make)


def empty_tables() -> list[str]:
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{name}' WHERE NOT EXISTS (SELECT 1 FROM {name})" for name in names
            )
        )
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture
def real_ledger(real_blocks: Path, db: None) -> Path:
    """The ledger of real blocks; what a test writes is rolled back. Gives the files' folder."""
    return real_blocks
