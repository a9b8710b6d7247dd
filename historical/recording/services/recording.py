"""Records blocks: each completely or not at all; recording one twice changes nothing."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.db import transaction
from solders.hash import Hash

from chain.blocks import SlotRecord
from chain.signed import Signatures
from chain.transactions import LEGACY
from chain.units import I64_MAX, Slot
from columns.queries import lift_timeouts
from historical.blocks import bodies as block_bodies
from historical.blocks.services.signed_blocks import require_signed
from historical.blocks.store import blocks as block_store
from historical.blocks.store import unsigned as unsigned_store
from historical.errors import BadBlock, BlockConflict
from historical.ledger_generations import CHANGES
from historical.recording.store import writing
from historical.recording.store.writing import BlockCounts
from historical.transactions import segments
from historical.transactions.outcomes import outcome_of
from historical.transactions.texts import TransactionText, text_of

# Rows held before they are written; a batch also ends with its segment of slots, so that an
# address has one row per segment and batch.
_BATCH_TRANSACTIONS = 20_000


@dataclass(slots=True)
class Recorded:
    """What became of the blocks: recorded now, or present already."""

    recorded: int = 0
    present: int = 0
    transactions: int = 0
    first_slot: Slot | None = None
    last_slot: Slot | None = None


@transaction.atomic
def record_blocks(
    records: Iterable[SlotRecord],
    *,
    now: datetime,
    signatures: Signatures = Signatures.UNVERIFIED,
) -> Recorded:
    """All of the blocks, or none when one of them cannot be recorded: BlockConflict, BadBlock,
    NotSigned. Blocks that are present already are not verified again.
    """
    lift_timeouts()
    result = Recorded()
    counts = BlockCounts()
    batch = _Batch()
    for record in records:
        if batch.is_full_before(record.slot):
            batch.write()
            batch = _Batch()
        if _is_present(record):
            result.present += 1
            continue
        signed = require_signed(record, signatures)
        if not batch.add(signed.record, now):
            result.present += 1
            continue
        if signed.marked:
            unsigned_store.insert(record.slot, signed.marked)
        result.recorded += 1
        result.transactions += len(record.transactions)
        counts.add(record.slot, record.parent_slot)
        result.first_slot = _lower(result.first_slot, record.slot)
        result.last_slot = max(record.slot, result.last_slot or record.slot)
    batch.write()
    counts.write()
    if result.recorded:
        CHANGES.moves()
    return result


def _lower(known: Slot | None, slot: Slot) -> Slot:
    return slot if known is None else min(known, slot)


def _is_present(record: SlotRecord) -> bool:
    rivals = block_store.rivals(record.slot, bytes(Hash.from_string(record.blockhash)))
    if not rivals:
        return False
    slot, stored, count = min(rivals, key=lambda rival: rival[0] != record.slot)
    if slot != record.slot:
        incoming = f"block {record.blockhash}"
        raise BlockConflict(Slot(slot), incoming, f"it for slot {record.slot}")
    blockhash = str(Hash.from_bytes(stored))
    found = len(record.transactions)
    if (blockhash, count) != (record.blockhash, found):
        raise BlockConflict(
            record.slot,
            f"block {blockhash} of {count} transactions",
            f"block {record.blockhash} of {found}",
        )
    return True


class _Batch:
    def __init__(self) -> None:
        self.segment: int | None = None
        self.transactions: list[writing.NewTransaction] = []
        self.entries: defaultdict[bytes, list[tuple[int, int]]] = defaultdict(list)

    def is_full_before(self, slot: Slot) -> bool:
        if self.segment is None:
            return False
        return (
            self.segment != segments.segment_of(slot)
            or len(self.transactions) >= _BATCH_TRANSACTIONS
        )

    def add(self, record: SlotRecord, now: datetime) -> bool:
        """Writes the block's row and keeps the rest for `write`; False when it is there already."""
        texts = list(_texts(record))
        body = block_bodies.pack(text.text for text in texts)
        if not writing.insert_block(_block_row(record, texts, now), body):
            if not _is_present(record):
                raise BadBlock(f"slot {record.slot}: taken out of the ledger just now; try again")
            return False
        self.segment = segments.segment_of(record.slot)
        for position, (text, place) in enumerate(zip(texts, body.places, strict=True)):
            self.transactions.append(
                writing.NewTransaction(
                    record.slot, position, place.start, place.length, place.frame,
                    text.signature, text.err, text.memo,
                )
            )  # fmt: skip
            entry = (record.slot, position)
            for address in dict.fromkeys(text.addresses):
                self.entries[address].append(entry)
        return True

    def write(self) -> None:
        writing.copy_transactions(self.transactions)
        # In the order of the index: pages filled at random stay half empty.
        writing.copy_entries(sorted(_entry_rows(self.entries), key=lambda row: row.address))


def _entry_rows(
    entries: dict[bytes, list[tuple[int, int]]],
) -> Iterable[writing.NewEntries]:
    for address, places in entries.items():
        places.sort()
        first_slot = places[0][0]
        packed = segments.pack_entries(first_slot, places)
        yield writing.NewEntries(first_slot, segments.digest(address), packed)


def _texts(record: SlotRecord) -> Iterable[TransactionText]:
    for position, entry in enumerate(record.transactions):
        try:
            yield text_of(entry, record.form)
        except (ValueError, TypeError, AttributeError, msgspec.MsgspecError) as error:
            raise BadBlock(f"slot {record.slot}, transactions[{position}]: {error}") from error


def _block_row(record: SlotRecord, texts: list[TransactionText], now: datetime) -> writing.NewBlock:
    for name in ("slot", "parent_slot", "block_height", "block_time"):
        if abs(getattr(record, name) or 0) > I64_MAX:
            raise BadBlock(f"slot {record.slot}: {name} is out of range")
    return writing.NewBlock(
        slot=record.slot,
        parent_slot=record.parent_slot,
        blockhash=bytes(Hash.from_string(record.blockhash)),
        previous_blockhash=bytes(Hash.from_string(record.previous_blockhash)),
        block_time=record.block_time,
        block_height=record.block_height,
        transaction_count=len(texts),
        failed_count=sum(outcome_of(text.err) == "failed" for text in texts),
        newest_version=max((text.version for text in texts), default=LEGACY),
        form=int(record.form),
        reward_partitions=record.reward_partitions,
        rewards=None if record.rewards is None else msgspec.json.encode(record.rewards),
        recorded_at=now,
    )
