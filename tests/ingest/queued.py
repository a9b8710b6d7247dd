"""Records as the follower hands them over."""

from chain.blocks import SlotRecord
from ingest import slot_queue
from upstream.geyser import messages
from upstream.geyser.messages import ClosedSlot
from upstream.protobuf import geyser_pb2 as schema


def closed(record: SlotRecord) -> ClosedSlot:
    meta = schema.SubscribeUpdate(block_meta=messages.block_meta(record, entry_count=1))
    transactions = []
    for index, transaction in enumerate(record.transactions):
        update = schema.SubscribeUpdate()
        update.transaction.slot = record.slot
        update.transaction.transaction.CopyFrom(messages.transaction_info(index, transaction))
        transactions.append(update.SerializeToString())
    writes = None
    if record.account_writes is not None:
        writes = []
        for write in record.account_writes:
            update = schema.SubscribeUpdate()
            update.account.slot = record.slot
            update.account.account.CopyFrom(messages.account_info(write))
            writes.append(update.SerializeToString())
    return ClosedSlot(
        record.slot,
        record.parent_slot,
        record.blockhash,
        record.granularity,
        meta.SerializeToString(),
        transactions,
        writes,
    )


def enqueue(*records: SlotRecord, reason: str = "") -> None:
    slot_queue.offer(
        slot_queue.pack(closed(record), reason=reason, source="stream") for record in records
    )
