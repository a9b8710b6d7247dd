"""The ledger that reads are measured on: real blocks where they lie beside the repository, else as
many transactions of a made chain.
"""

import itertools
import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks.growth import FILE, copy_blocks
from benchmarks.service import FIXTURES, import_path

_BLOCK = 332254855
_FILES = (
    "mainnet-332254855.confirmedblock.pb.zst",
    "mainnet-254170887.base64.json.gz",
    FILE,
)
_MADE_BLOCKS = 75
_SAMPLE = 20_000
_ADDRESSES = 500


@dataclass(frozen=True, slots=True)
class ReadChain:
    """What was imported: the slot of one large block, its signatures, some of all transactions'
    signatures, and addresses that those name, each as base58.
    """

    name: str
    transactions: int
    block: int
    block_signatures: list[str]
    signatures: list[str]
    addresses: list[str]


def fill() -> ReadChain:
    """Some 72,000 transactions in an empty ledger."""
    from chain.encodings import b58encode
    from historical.models import Transaction
    from historical.transactions.store import transactions as store

    if FIXTURES.is_dir():
        for name in _FILES:
            import_path(FIXTURES / name)
        copy_blocks(1)
        name, block = "real blocks", _BLOCK
    else:
        name, block = "a made chain", _record_made_chain()
    _analyze()
    chance = random.Random(5)
    everything = [bytes(each) for each in _column(Transaction.objects.values_list("signature"))]
    chosen = chance.sample(everything, min(_SAMPLE, len(everything)))
    return ReadChain(
        name=name,
        transactions=len(everything),
        block=block,
        block_signatures=[b58encode(raw) for raw in store.signatures_of(block)],
        signatures=[b58encode(raw) for raw in chosen],
        addresses=_addresses(chosen[:_ADDRESSES], chance),
    )


def _column(rows: Iterable[tuple[Any]]) -> Iterable[Any]:
    return itertools.chain.from_iterable(rows)


def _record_made_chain() -> int:
    """The slot of its last block."""
    from benchmarks.sample_chain import FIRST_SLOT, SampleChain
    from chain.units import Slot
    from historical.recording.services.recording import record_blocks

    chain = SampleChain()
    slots = [Slot(FIRST_SLOT + number) for number in range(_MADE_BLOCKS)]
    record_blocks((chain.slot(slot) for slot in slots), now=datetime.now(UTC))
    return slots[-1]


def _analyze() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE historical_block, historical_transaction, historical_addressentries"
        )


def _addresses(signatures: list[bytes], chance: random.Random) -> list[str]:
    """One of each transaction: busy ones as often as they are busy."""
    import json

    from solders.signature import Signature

    from chain.commitment import TransactionEncoding
    from historical.transactions.services import transactions

    found = []
    for raw in signatures:
        entry = transactions.transaction(
            Signature.from_bytes(raw), encoding=TransactionEncoding.JSON, max_version=0
        )
        assert entry is not None
        keys = json.loads(bytes(entry))["transaction"]["message"]["accountKeys"]
        found.append(chance.choice(keys))
    return found
