"""The ledger: import rate, bytes stored, and reads against a bare WSGI app."""

import time

from benchmarks import growth, serving
from benchmarks.service import FIXTURES, database, import_path

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
        calls = reads()
        serving.measure(calls)
        print("without the cache of texts:")
        del calls["getSlot"]
        serving.measure(calls, LEDGER_CACHE_MB="0")
        growth.measure()


def import_and_size() -> None:
    """Transactions per CPU second of an import, and bytes on disk per byte of base64 JSON."""
    for name in FILES:
        stored = _stored()
        recorded = import_path(FIXTURES / name)
        written = _stored() - stored
        busy, unverified = _best_import(name), _best_import(name, verified=False)
        count = recorded.transactions
        source = base64_json_bytes(recorded.first_slot, recorded.last_slot)
        print(
            f"import {name}: {count:,} transactions, {count / busy:,.0f} per CPU second,"
            f" {count / unverified:,.0f} without verifying signatures;"
            f" stored {written / count:,.0f} B per transaction,"
            f" base64 JSON {source / count:,.0f} B, ratio {written / source:.3f}",
            flush=True,
        )


def _best_import(name: str, *, verified: bool = True) -> float:
    """CPU seconds of the importer, the best of several imports into empty tables; all of it is
    rolled back, and leaves nothing in the tables' files.
    """
    from django.db import connection, transaction

    best = float("inf")
    for _ in range(5):
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"TRUNCATE {', '.join(TABLES)}")
            cpu = time.process_time()
            import_path(FIXTURES / name, verified=verified)
            best = min(best, time.process_time() - cpu)
            transaction.set_rollback(True)
    return best


def base64_json_bytes(first: int, last: int) -> int:
    """What getBlock in encoding base64 sends for the slots' blocks, without white space."""
    from chain.commitment import BlockOptions, TransactionEncoding
    from historical.blocks.services import blocks

    return sum(
        len(
            bytes(
                blocks.block(slot, BlockOptions(encoding=TransactionEncoding.BASE64, max_version=1))
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


def reads() -> serving.Calls:
    from historical.transactions.store import transactions

    versions = {"maxSupportedTransactionVersion": 0}
    from chain.encodings import b58encode

    signatures = [b58encode(raw) for raw in transactions.signatures_of(BLOCK)]
    return {
        "getSlot": [("getSlot", [])],
        "getTransaction": [("getTransaction", [each, versions]) for each in signatures],
        "getBlock": [("getBlock", [BLOCK, versions])],
    }


if __name__ == "__main__":
    main()
