"""Stored blocks in protobuf (ConfirmedBlock), bare or inside a dbin message → SlotRecord."""

from typing import Any

from google.protobuf.message import DecodeError

from chain.blocks import SlotRecord, TransactionRecord
from chain.transactions import (
    BadTransaction,
    Config,
    Header,
    Instruction,
    Lookup,
    Wire,
    sanitize,
)
from chain.units import Slot, UnixTimestamp
from upstream.archives import checks
from upstream.archives.containers import SOLANA_BLOCK
from upstream.archives.errors import Unreadable
from upstream.archives.slots import slot_of
from upstream.archives.status_meta import loaded_keys, meta_json, rewards_of, was_recorded
from upstream.protobuf import confirmed_block_pb2 as schema

_SOLANA_PAYLOAD = 3


def block_message(data: bytes) -> Any:
    """The ConfirmedBlock in these bytes; Unreadable if there is none."""
    try:
        block = schema.ConfirmedBlock.FromString(data)
    except DecodeError:
        raise Unreadable("", "the protobuf data is damaged or ends too early") from None
    if not block.blockhash:
        raise Unreadable("blockhash", "missing")
    return block


def contained_block(message: bytes, number: int) -> SlotRecord:
    """The block in a dbin message; `number` counts from 1 and is only used in errors."""
    try:
        outer = schema.ContainedBlock.FromString(message)
    except DecodeError:
        raise Unreadable(f"block {number}", "the dbin message is damaged") from None
    place = f"block {number} (slot {outer.number})"
    try:
        block = block_message(_payload(outer))
        # Some writers leave the slot to the container.
        if block.HasField("slot") and block.slot != outer.number:
            raise Unreadable("", f"the block inside says {block.slot}")
        if outer.HasField("previous_number") and outer.previous_number != block.parent_slot:
            raise Unreadable(
                "",
                f"it comes after {outer.previous_number}, and the block inside after"
                f" {block.parent_slot}",
            )
        if outer.id != block.blockhash:
            raise Unreadable("", f"its id is {outer.id} but the blockhash {block.blockhash}")
        return slot_record(block, Slot(outer.number))
    except Unreadable as fault:
        raise fault.inside(place) from None


def _payload(outer: Any) -> bytes:
    """Containers of version 1 name the payload's type, those of version 0 its kind by a number."""
    if outer.HasField("typed_payload"):
        kind = outer.typed_payload.type_url
        if not kind.endswith(SOLANA_BLOCK):
            raise Unreadable("", f"a payload of type {kind[:80]} is not Solana's")
        return bytes(outer.typed_payload.value)
    if outer.payload_kind != _SOLANA_PAYLOAD:
        raise Unreadable("", f"payload kind {outer.payload_kind} is not Solana's")
    return bytes(outer.payload)


def bare_block(data: bytes, *, given: int | None, name: str) -> tuple[SlotRecord, bool]:
    """The block of a file with nothing around it, and whether its slot was only guessed."""
    block = block_message(data)
    if block.HasField("slot"):
        if given not in (None, block.slot):
            raise Unreadable("slot", f"the block says {block.slot}, not {given}")
        return slot_record(block, Slot(block.slot)), False
    slot, guessed = slot_of(Slot(block.parent_slot), given=given, name=name)
    return slot_record(block, slot), guessed


def slot_record(block: Any, slot: Slot) -> SlotRecord:
    """A ConfirmedBlock message as SlotRecord; Unreadable with the place of what is wrong."""
    if block.parent_slot >= slot and slot != 0:
        raise Unreadable("parentSlot", f"{block.parent_slot} is not before slot {slot}")
    transactions = []
    for index, confirmed in enumerate(block.transactions):
        try:
            transactions.append(transaction_record(confirmed))
        except (Unreadable, BadTransaction) as fault:
            raise _at_transaction(fault, index) from None
    return record_of(block, block, block.previous_blockhash, slot, transactions)


def record_of(
    message: Any, rewarded: Any, previous: str, slot: Slot, transactions: list[TransactionRecord]
) -> SlotRecord:
    """The record of a block's message, whose rewards are in `rewarded`."""
    rewards, partitions = rewards_of(rewarded)
    return SlotRecord(
        slot=slot,
        parent_slot=Slot(message.parent_slot),
        blockhash=checks.blockhash(message.blockhash, "blockhash"),
        previous_blockhash=checks.blockhash(previous, "previousBlockhash"),
        block_time=(
            UnixTimestamp(message.block_time.timestamp) if message.HasField("block_time") else None
        ),
        block_height=(
            message.block_height.block_height if message.HasField("block_height") else None
        ),
        transactions=transactions,
        rewards=rewards,
        reward_partitions=partitions,
    )


def _at_transaction(fault: Unreadable | BadTransaction, index: int) -> Unreadable:
    inside = "transaction." if isinstance(fault, BadTransaction) and fault.place else ""
    place = f".{inside}{fault.place}" if fault.place else ""
    return Unreadable(f"transactions[{index}]{place}", fault.reason)


def transaction_record(confirmed: Any) -> TransactionRecord:
    """The record of a message with a `transaction` and a `meta`: a ConfirmedTransaction, or the
    stream's; Unreadable or BadTransaction with the place of what is wrong.
    """
    wire = _wire(confirmed.transaction)
    sanitize(wire)
    if not confirmed.HasField("meta") or not was_recorded(confirmed.meta):
        return TransactionRecord(wire, None)
    meta = meta_json(confirmed.meta)
    checks.meta_fits(meta, wire)
    return TransactionRecord(wire, meta, loaded_keys(confirmed.meta))


def _wire(transaction: Any) -> Wire:
    message = transaction.message
    header = message.header
    return Wire(
        signatures=list(transaction.signatures),
        version=_version(message),
        header=Header(
            header.num_required_signatures,
            header.num_readonly_signed_accounts,
            header.num_readonly_unsigned_accounts,
        ),
        account_keys=list(message.account_keys),
        recent_blockhash=message.recent_blockhash,
        instructions=[
            Instruction(each.program_id_index, each.accounts, each.data)
            for each in message.instructions
        ],
        lookups=[
            Lookup(each.account_key, each.writable_indexes, each.readonly_indexes)
            for each in message.address_table_lookups
        ],
        config=_config(message.config) if message.HasField("config") else None,
    )


def _version(message: Any) -> Any:
    if not message.versioned:
        if message.address_table_lookups:
            raise BadTransaction("a legacy message has lookups", "message.addressTableLookups")
        return "legacy"
    # Only version 1 has in-line settings, and it has them always, be they empty.
    if message.HasField("config"):
        if message.address_table_lookups:
            raise BadTransaction("version 1 has no lookups", "message.addressTableLookups")
        return 1
    return 0


def _config(config: Any) -> Config:
    names = ("priority_fee", "compute_unit_limit", "loaded_accounts_data_size_limit", "heap_size")
    return Config(*(getattr(config, name) if config.HasField(name) else None for name in names))
