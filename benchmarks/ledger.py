"""The ledger: import rate, bytes stored, and reads against a bare WSGI app."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import serving
from benchmarks.service import FIXTURES, database

FILES = [
    "mainnet-254170887.base64.json.gz",
    "mainnet-332254855.confirmedblock.pb.zst",
    "mainnet-55065000-55065099.dbin.zst",
]
BLOCK = 332254855
TABLES = ["historical_block", "historical_transaction", "historical_addressentries"]


def main() -> None:
    if not FIXTURES.is_dir():
        raise SystemExit(f"the real blocks that this measures on are not here: {FIXTURES}")
    with database():
        import_path(FIXTURES / "mainnet-43200.confirmedblock.pb")  # loads code, makes first pages
        import_and_size()
        serving.measure(reads())


def import_and_size() -> None:
    """Transactions per CPU second of an import, and bytes on disk per byte of base64 JSON."""
    for name in FILES:
        stored = _stored()
        begun, cpu = time.perf_counter(), time.process_time()
        recorded = import_path(FIXTURES / name)
        wall, busy = time.perf_counter() - begun, time.process_time() - cpu
        count = recorded.transactions
        written = _stored() - stored
        source = base64_json_bytes(recorded.first_slot, recorded.last_slot)
        print(
            f"import {name}: {count} transactions, {count / wall:,.0f}/s"
            f" ({count / busy:,.0f} per CPU second of the importer);"
            f" stored {written / count:,.0f} B per transaction,"
            f" base64 JSON {source / count:,.0f} B, ratio {written / source:.3f}",
            flush=True,
        )


def import_path(path: Path) -> Any:
    from ingest.services import import_file

    recorded, _ = import_file(
        path, slot=None, now=lambda: datetime.now(UTC), progress=lambda position, size: None
    )
    return recorded


def base64_json_bytes(first: int, last: int) -> int:
    """What getBlock in encoding base64 sends for the slots' blocks, without white space."""
    from chain.commitment import TransactionDetails, TransactionEncoding
    from historical.services import blocks

    return sum(
        len(
            bytes(
                blocks.block(
                    slot,
                    encoding=TransactionEncoding.BASE64,
                    details=TransactionDetails.FULL,
                    rewards=True,
                    max_version=1,
                )
            )
        )
        for slot in blocks.slots_between(first, last)
    )


def _stored() -> int:
    """Bytes on disk, after the vacuum that autovacuum would do: COPY takes pages ahead of need."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM {', '.join(TABLES)}")
        cursor.execute(f"SELECT {' + '.join('pg_total_relation_size(%s)' for _ in TABLES)}", TABLES)
        return int(cursor.fetchone()[0])


def reads() -> dict[str, list[tuple[str, list[Any]]]]:
    from historical.store import transactions

    versions = {"maxSupportedTransactionVersion": 0}
    from chain.encodings import b58encode

    signatures = [b58encode(raw) for raw in transactions.signatures_of(BLOCK)]
    return {
        "getSlot": [("getSlot", [])],
        "getTransaction": [("getTransaction", [each, versions]) for each in signatures],
        "getBlock": [("getBlock", [BLOCK, versions])],
    }
