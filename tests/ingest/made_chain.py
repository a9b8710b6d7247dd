"""A made chain whose blocks hold the transactions that a test wants, and submissions to it."""

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha512
from typing import Any

from django.utils import timezone
from solders.hash import Hash

from chain.blocks import SlotRecord, TransactionRecord
from chain.units import Slot, UnixTimestamp
from ingest.services.slots import store_records
from priority.models import Submission
from tests.rewind.samples import blockhash

FAILURE = {"InstructionError": [0, {"Custom": 1}]}


def signature(number: int) -> bytes:
    return sha512(b"%d" % number).digest()


def block(
    slot: int,
    parent: int | None = None,
    *,
    height: int | None,
    holds: Mapping[bytes, Any] | None = None,
    time: int | None = None,
) -> SlotRecord:
    """A block of these transactions, by signature, each with its error or None."""
    parent = max(slot - 1, 0) if parent is None else parent
    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(parent),
        blockhash=blockhash(slot),
        previous_blockhash=blockhash(parent),
        block_time=None if time is None else UnixTimestamp(time),
        block_height=height,
        transactions=[
            TransactionRecord(
                b"\1" + each + b"\1\0\0\1" + bytes(32) + bytes(32) + b"\0",
                {"err": err, "fee": 5_000, "preBalances": [10_000], "postBalances": [5_000]},
            )
            for each, err in (holds or {}).items()
        ],
    )


def dying_chain(holds: Mapping[int, Mapping[bytes, Any]] | None = None) -> list[SlotRecord]:
    """Slots 1 to 12 with heights that rise by 15: 1, 16, …, 166; the one of slot 12 is the first
    above the last valid height of slot 1's blockhash.
    """
    held = holds or {}
    return [block(slot, height=15 * slot - 14, holds=held.get(slot)) for slot in range(1, 13)]


def store(*records: SlotRecord) -> None:
    store_records(records, source="made", now=timezone.now())


def submitted(
    number: int,
    *,
    blockhash_of: int = -1,
    accepted_slot: int | None = None,
    last_valid: int | None = None,
    age: timedelta = timedelta(minutes=1),
    **columns: Any,
) -> Submission:
    """A submission that one upstream took, on the blockhash of that slot, or one of no block."""
    now = timezone.now()
    values = {
        "signature": signature(number),
        "kind": "transaction",
        "blockhash": blockhash(blockhash_of) if blockhash_of >= 0 else Hash.new_unique(),
        "accepted_at": now - age,
        "accepted_slot": accepted_slot,
        "last_valid_block_height": last_valid,
        "state": "sent",
        "sent_at": now - age,
        **columns,
    }
    values["blockhash"] = bytes(
        values["blockhash"]
        if isinstance(values["blockhash"], Hash)
        else Hash.from_string(values["blockhash"])
    )
    return Submission.objects.create(**values)


def fate(row: Submission) -> tuple[str, str, int | None, int | None, Any, bool]:
    """State, commitment, slot, index, error, and whether that is final."""
    row.refresh_from_db()
    return (
        str(row.state),
        row.commitment,
        row.slot,
        row.transaction_index,
        row.err,
        row.settled_at is not None,
    )
