"""Restores the newest blocks to the feed, so that a stream can begin before a restart."""

from collections import deque
from collections.abc import Iterator, Sequence

from chain.blocks import SlotRecord
from chain.transactions import decode_wire
from localnet.feed import (
    AccountWritten,
    BlockMade,
    ChainEvent,
    EntryMade,
    Feed,
    SlotChanged,
    SlotStatus,
    TransactionRan,
)
from localnet.storage import Storage


def recall_blocks(storage: Storage, feed: Feed, count: int) -> None:
    """Publishes the newest kept blocks again, as they were shown when they were made."""
    for record, entries in storage.newest_blocks(count):
        # Blocks and a genesis stored without their entries cannot be replayed.
        if entries:
            for event in _events(record, entries):
                feed.publish(event)


def _events(record: SlotRecord, entries: Sequence[EntryMade]) -> Iterator[ChainEvent]:
    yield _reached(record, SlotStatus.FIRST_SHRED_RECEIVED)
    yield _reached(record, SlotStatus.CREATED_BANK)
    waiting = deque(sorted(record.account_writes or (), key=lambda each: each.write_version))
    while waiting and waiting[0].signature is None:
        yield AccountWritten(record.slot, waiting.popleft())
    *with_transactions, last = entries
    ends = {
        each.starting_transaction_index + each.transaction_count: each for each in with_transactions
    }
    for index, transaction in enumerate(record.transactions):
        signature = decode_wire(transaction.wire).signatures[0]
        while waiting and waiting[0].signature == signature:
            yield AccountWritten(record.slot, waiting.popleft())
        yield TransactionRan(record.slot, index, signature, transaction)
        if index + 1 in ends:
            yield ends[index + 1]
    for write in waiting:
        yield AccountWritten(record.slot, write)
    yield last
    yield _reached(record, SlotStatus.COMPLETED)
    yield BlockMade(record, len(entries))
    for status in (SlotStatus.PROCESSED, SlotStatus.CONFIRMED, SlotStatus.FINALIZED):
        yield _reached(record, status)


def _reached(record: SlotRecord, status: SlotStatus) -> SlotChanged:
    return SlotChanged(record.slot, record.parent_slot, status)
