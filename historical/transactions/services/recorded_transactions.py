"""Transactions as stored in the ledger, for replays."""

from dataclasses import dataclass
from typing import Any

import msgspec
from solders.hash import Hash
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.commitment import BlockForm, TransactionEncoding
from chain.encodings import b64decode
from chain.units import Slot
from historical.blocks.store import blocks as block_store
from historical.transactions.services.transactions import entry
from historical.transactions.store import transaction_lookup
from historical.transactions.store import transactions as store

_ANY_VERSION = 255


@dataclass(frozen=True, slots=True)
class RecordedTransaction:
    """A transaction, where it stands, and its status meta as the node's JSON has it (None where
    the ledger's source had none).
    """

    slot: Slot
    index: int
    signature: Signature
    transaction: VersionedTransaction
    meta: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """A block without its transactions."""

    slot: Slot
    parent_slot: Slot
    previous_blockhash: Hash
    transactions: int


class _Entry(msgspec.Struct):
    transaction: tuple[str, str]
    meta: dict[str, Any] | None = None


_read_entry = msgspec.json.Decoder(_Entry).decode


def place_of(signature: Signature) -> tuple[Slot, int] | None:
    """(slot, index in the block) of a transaction of the ledger."""
    found = store.place_of(bytes(signature))
    return None if found is None else (Slot(found[0]), found[1])


def recorded(signature: Signature) -> RecordedTransaction | None:
    """The transaction of that first signature; None where the ledger does not have it."""
    found = transaction_lookup.transaction(bytes(signature))
    return None if found is None else _recorded(found.row)


def recorded_at(slot: int, index: int) -> RecordedTransaction | None:
    """The block's transaction of that index."""
    rows = store.transactions_at([(slot, index)])
    return _recorded(rows[0]) if rows else None


def signatures_at(places: list[tuple[int, int]]) -> dict[tuple[int, int], Signature]:
    """(slot, index) → signature, of those that the ledger has."""
    if not places:
        return {}
    return {(row.slot, row.position): Signature(row.signature) for row in store.listed(places)}


def block_of(slot: int) -> RecordedBlock | None:
    row = block_store.block(slot)
    if row is None:
        return None
    return RecordedBlock(
        slot=Slot(row.slot),
        parent_slot=Slot(row.parent_slot),
        previous_blockhash=Hash(row.previous_blockhash),
        transactions=row.transaction_count,
    )


def _recorded(row: store.TransactionRow) -> RecordedTransaction:
    text = bytes(
        entry(
            row,
            encoding=TransactionEncoding.BASE64,
            max_version=_ANY_VERSION,
            wanted=BlockForm.SOURCE,
        )
    )
    read = _read_entry(text)
    return RecordedTransaction(
        slot=Slot(row.slot),
        index=row.position,
        signature=Signature(row.signature),
        transaction=VersionedTransaction.from_bytes(b64decode(read.transaction[0])),
        meta=read.meta,
    )
