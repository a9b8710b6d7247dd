"""Blocks of the ledger as records and transactions, for notifications of what is past."""

from functools import partial
from typing import Any

import msgspec

from chain.addresses import VOTE
from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58decode, b58encode
from chain.transaction_json import all_keys, wire_from_json
from chain.transactions import BadTransaction
from chain.units import Slot, UnixTimestamp
from historical.blocks.services.stored_content import Unreadable, transactions_of
from historical.blocks.store import blocks as ledger
from historical.blocks.store.blocks import BlockRow
from subscriptions.content import Ran

_decode = msgspec.json.Decoder().decode
_VOTE_PROGRAM = str(VOTE)


def row_of(slot: int) -> BlockRow:
    """Raises Unreadable for a block that is being replaced."""
    row = ledger.block_now(slot)
    if row is None:
        raise Unreadable(f"slot {slot} was taken out meanwhile")
    return row


def header_of(row: BlockRow) -> SlotRecord:
    """The block without its transactions."""
    return SlotRecord(
        slot=Slot(row.slot),
        parent_slot=Slot(row.parent_slot),
        blockhash=b58encode(row.blockhash),
        previous_blockhash=b58encode(row.previous_blockhash),
        block_time=None if row.block_time is None else UnixTimestamp(row.block_time),
        block_height=row.block_height,
        transactions=[],
        rewards=None if row.rewards is None else _decode(row.rewards),
        reward_partitions=row.reward_partitions,
    )


def entries_of(row: BlockRow) -> list[dict[str, Any]]:
    """Its transactions as JSON. Raises Unreadable."""
    entries = transactions_of(row.slot)
    if len(entries) != row.transaction_count:
        raise Unreadable(f"slot {row.slot} has {len(entries)} readable transactions")
    return entries


def record_of(slot: int, index: int, entry: dict[str, Any]) -> TransactionRecord:
    """Raises Unreadable."""
    version = entry.get("version", "legacy")
    try:
        wire = wire_from_json(entry["transaction"], version)
    except BadTransaction as error:
        raise Unreadable(f"slot {slot}, transaction {index}: {error}") from None
    return TransactionRecord(wire, entry.get("meta"))


def transactions(row: BlockRow) -> list[Ran]:
    """Raises Unreadable."""
    return [_ran(row.slot, index, entry) for index, entry in enumerate(entries_of(row))]


def _ran(slot: int, index: int, entry: dict[str, Any]) -> Ran:
    message, meta = entry["transaction"]["message"], entry.get("meta") or {}
    texts = all_keys(entry)
    signatures = entry["transaction"]["signatures"]
    instructions = message["instructions"]
    is_vote = (
        entry.get("version", "legacy") == "legacy"
        and len(signatures) <= 2
        and len(instructions) == 1
        and message["accountKeys"][instructions[0]["programIdIndex"]] == _VOTE_PROGRAM
    )
    return Ran(
        index,
        b58decode(signatures[0]),
        frozenset(map(b58decode, texts)),
        is_vote,
        meta.get("err"),
        meta.get("logMessages"),
        partial(record_of, slot, index, entry),
    )
