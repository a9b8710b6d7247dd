"""Latency of reads with ten times the data, as a ratio to before; nothing is kept in the processes,
so that every read goes to the tables.
"""

import random
import statistics
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from benchmarks import load
from benchmarks.service import FIXTURES, new_key, rpc_request, served

FILE = "mainnet-55065000-55065099.dbin.zst"
TIMES = 10
_STEP = 1_000  # slots from one copy of the blocks to the next
_SAMPLE = 3_000
_ROUNDS = 5
_VERSIONS = {"maxSupportedTransactionVersion": 0}


def measure() -> None:
    """Reads random transactions and random addresses' newest signatures, before and after."""
    before = _latencies()
    copy_blocks(TIMES - 1)
    after = _latencies()
    for name, value in after.items():
        print(
            f"{name}: p50 {before[name] * 1e3:.3f} ms, with {TIMES} times the data"
            f" {value * 1e3:.3f} ms, ratio {value / before[name]:.2f}",
            flush=True,
        )


def _latencies() -> dict[str, float]:
    from django.db import connection

    from chain.encodings import b58encode

    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE historical_block, historical_transaction, historical_addressentries"
        )
        cursor.execute(
            "SELECT signature FROM historical_transaction ORDER BY random() LIMIT %s", [_SAMPLE]
        )
        signatures = [b58encode(bytes(row[0])) for row in cursor.fetchall()]
    key = new_key()
    calls = {
        "getTransaction": [
            rpc_request(key, "getTransaction", [each, _VERSIONS]) for each in signatures
        ],
        "getSignaturesForAddress, 100 newest": [
            rpc_request(key, "getSignaturesForAddress", [each, {"limit": 100}])
            for each in _addresses()
        ],
    }
    found = {}
    with served("config.wsgi:application", environment={"LEDGER_CACHE_MB": "0"}) as address:
        for name, requests in calls.items():
            load.run(address, requests, connections=1, seconds=1)
            found[name] = statistics.median(
                load.run(address, requests, connections=1, seconds=1.5).p50 for _ in range(_ROUNDS)
            )
    return found


def _addresses() -> list[str]:
    """Some of the addresses that the copied blocks' transactions load, each as often as they do."""
    from chain.encodings import b58encode
    from chain.transactions import decode_wire

    chance = random.Random(1)
    return [
        b58encode(chance.choice(decode_wire(entry.wire).account_keys))
        for record in _blocks()
        for entry in record.transactions[:6]
    ]


def _blocks() -> Iterator[Any]:
    from upstream.archives.block_files import open_block_file

    with open_block_file(FIXTURES / FILE) as blocks:
        yield from blocks


def copy_blocks(copies: int) -> None:
    """The file's blocks again at other slots, with other signatures and blockhashes."""
    from historical.recording.services.recording import record_blocks

    for copy in range(1, copies + 1):
        record_blocks((_moved(record, copy) for record in _blocks()), now=datetime.now(UTC))


def _moved(record: Any, copy: int) -> Any:
    from chain.blocks import TransactionRecord
    from chain.encodings import b58decode, b58encode

    def marked(data: bytes, at: int) -> bytes:
        return data[:at] + bytes([data[at] ^ copy]) + data[at + 1 :]

    return replace(
        record,
        slot=record.slot + copy * _STEP,
        parent_slot=record.parent_slot + copy * _STEP,
        blockhash=b58encode(marked(b58decode(record.blockhash), 8)),
        transactions=[
            # the first signature begins after its count, one byte
            TransactionRecord(marked(entry.wire, 9), entry.meta)
            for entry in record.transactions
        ],
    )
