"""The sealed ledger: bytes a transaction hot, sealed and as base64 JSON, and the CPU of sealing;
getBlock, getTransaction and lists of addresses sealed against hot, in turns, through the whole
stack.
"""

import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.service import FIXTURES, database, new_key, rpc_request, served
from tests.emptying import LEDGER_TABLES

FILES = (
    "mainnet-254170887.base64.json.gz",
    "mainnet-332254855.confirmedblock.pb.zst",
    "mainnet-55065000-55065099.dbin.zst",
)
_TABLES = ", ".join(LEDGER_TABLES)
_EPOCH = 432_000
_MADE_BLOCKS = 60
_SAMPLE = 2_000
_ROUNDS, _SECONDS = 5, 1.0
_V0 = {"maxSupportedTransactionVersion": 0}

# In rows: requests of hot transactions, and the same of sealed ones.
Pairs = dict[str, tuple[list[bytes], list[bytes]]]


def main() -> None:
    with database():
        sources = [FIXTURES / name for name in FILES] if FIXTURES.is_dir() else [None]
        for source in sources:
            measure_bytes(source)
        for source in sources:
            requests = _half_sealed(source)
            for megabytes in ("0", "96"):
                measure_reads(_name(source), requests, megabytes)


def measure_bytes(source: Path | None) -> None:
    """Growth of all tables with their indexes and TOAST, rewritten without free space, over what an
    almost empty ledger takes.
    """
    from benchmarks.ledger import base64_json_bytes
    from historical.recording.services.recording import record_blocks

    _empty()
    record_blocks([_first(None)], now=datetime.now(UTC))
    seal_all()
    before = _stored()
    records = list(_records(source))
    record_blocks(records, now=datetime.now(UTC))
    count = sum(len(record.transactions) for record in records)
    base64 = base64_json_bytes(records[0].slot, records[-1].slot)
    hot = _stored() - before
    began = time.process_time()
    seal_all()
    busy = time.process_time() - began
    sealed = _stored() - before
    print(
        f"{_name(source)}: {count:,} transactions; bytes each: base64 JSON {base64 / count:,.0f},"
        f" hot {hot / count:,.0f} ({hot / base64:.3f}), sealed {sealed / count:,.0f}"
        f" ({sealed / base64:.3f}); {count / busy:,.0f} sealed per CPU second of Python",
        flush=True,
    )


def measure_reads(name: str, pairs: Pairs, megabytes: str) -> None:
    """Hot and sealed take turns, so that both meet the same neighbours; the ratio is the median of
    the rounds' ratios of p50.
    """
    with served("config.wsgi:application", environment={"LEDGER_CACHE_MB": megabytes}) as address:
        for method, (hot, sealed) in pairs.items():
            ratios, figures = [], []
            for requests in (hot, sealed):
                load.run(address, requests, connections=1, seconds=_SECONDS)
            for _ in range(_ROUNDS):
                one = load.run(address, hot, connections=1, seconds=_SECONDS)
                other = load.run(address, sealed, connections=1, seconds=_SECONDS)
                ratios.append(other.p50 / one.p50)
                figures.append((one.p50, one.p99, other.p50, other.p99))
            middle = [statistics.median(column) * 1e3 for column in zip(*figures, strict=True)]
            print(
                f"{name}, {method}, LEDGER_CACHE_MB={megabytes}: p50 / p99 ms hot"
                f" {middle[0]:.3f} / {middle[1]:.2f}, sealed {middle[2]:.3f} / {middle[3]:.2f};"
                f" ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})",
                flush=True,
            )


def _half_sealed(source: Path | None) -> Pairs:
    """The blocks sealed, and again, in a later epoch with other signatures, hot."""
    from chain.encodings import b58encode
    from historical.recording.services.recording import record_blocks

    _empty()
    records = list(_records(source))
    copies = [moved(record, 2 * _EPOCH) for record in records]
    record_blocks(records, now=datetime.now(UTC))
    seal_all()
    record_blocks(copies, now=datetime.now(UTC))
    _stored()
    key = new_key()
    chance = random.Random(3)
    transactions = [
        (entry, copy)
        for record, other in zip(records, copies, strict=True)
        for entry, copy in zip(record.transactions, other.transactions, strict=True)
    ]
    chosen = chance.sample(transactions, min(_SAMPLE, len(transactions)))
    slots = [record.slot for record in records][:60]
    # Both bounds are a row's: one of what is sealed takes another statement to find.
    bound = b58encode(copies[0].transactions[0].signature)
    addresses = [chance.choice(entry.account_keys) for entry, _ in chosen[:500]]
    bounds = {"limit": 100}

    def each(method: str, *params: Any) -> bytes:
        return rpc_request(key, method, [*params])

    def transaction(signature: bytes) -> bytes:
        return each("getTransaction", b58encode(signature), _V0)

    def listed(address: bytes, **given: str) -> bytes:
        return each("getSignaturesForAddress", b58encode(address), {**bounds, **given})

    return {
        "getTransaction": (
            [transaction(copy.signature) for _, copy in chosen],
            [transaction(entry.signature) for entry, _ in chosen],
        ),
        "getBlock": (
            [each("getBlock", slot + 2 * _EPOCH, _V0) for slot in slots],
            [each("getBlock", slot, _V0) for slot in slots],
        ),
        "getSignaturesForAddress, 100": (
            [listed(address, until=bound) for address in addresses],
            [listed(address, before=bound) for address in addresses],
        ),
    }


def seal_all() -> None:
    """Every block that is recorded, whether its range is finished or not."""
    from historical.sealed.services.sealing import seal_step

    while seal_step(
        range_slots=_EPOCH,
        now=datetime.now(UTC),
        settles=timedelta(seconds=-1),
        finished_below=2**40,
    ):
        pass


def moved(record: Any, slots: int) -> Any:
    """The same block at another slot, with another blockhash and other signatures."""
    from chain.blocks import TransactionRecord
    from chain.encodings import b58decode, b58encode

    def marked(data: bytes, at: int) -> bytes:
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    return replace(
        record,
        slot=record.slot + slots,
        parent_slot=record.parent_slot + slots,
        blockhash=b58encode(marked(b58decode(record.blockhash), 8)),
        transactions=[
            # the first signature begins after its count, one byte
            TransactionRecord(marked(entry.wire, 9), entry.meta)
            for entry in record.transactions
        ],
    )


def _records(source: Path | None) -> Iterator[Any]:
    from upstream.archives.block_files import open_block_file

    if source is None:
        yield from _made(_MADE_BLOCKS)
        return
    with open_block_file(source) as blocks:
        yield from blocks


def _made(count: int) -> Iterator[Any]:
    from benchmarks.sample_chain import FIRST_SLOT, SampleChain
    from chain.units import Slot

    made = SampleChain()
    for number in range(count):
        yield made.slot(Slot(FIRST_SLOT + number))


def _first(source: Path | None) -> Any:
    """A block of one transaction, far below the others."""
    record = next(_made(1))
    return replace(
        moved(record, -250_000_000), transactions=record.transactions[:1], account_writes=None
    )


def _name(source: Path | None) -> str:
    return "a made chain" if source is None else source.name


def _empty() -> None:
    from django.db import connection

    from columns import generations

    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {_TABLES}")
    generations.move_all()


def _stored() -> int:
    """Bytes on disk of all tables, after they were rewritten and counted."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM (FULL, ANALYZE) {_TABLES}")
        sizes = " + ".join(f"pg_total_relation_size('{name}')" for name in LEDGER_TABLES)
        cursor.execute(f"SELECT {sizes}")
        return int(next(chain.from_iterable(cursor.fetchall())))


if __name__ == "__main__":
    main()
