"""A slot and its parts as the stream's messages, and back."""

import time
from dataclasses import replace
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.blocks import Granularity, SlotRecord, TransactionRecord
from chain.transactions import BadTransaction, Wire
from chain.units import Slot
from upstream.archives.confirmed_block import record_of, transaction_record
from upstream.archives.errors import Unreadable
from upstream.geyser.stored_form import fill_meta, fill_transaction, reward_message
from upstream.protobuf import geyser_pb2 as schema

_VOTE_PROGRAM = bytes(Pubkey.from_string("Vote111111111111111111111111111111111111111"))
_MOST_VOTE_SIGNATURES = 2
_parse = schema.SubscribeUpdate.FromString


def created_now() -> bytes:
    """The `created_at` of an update that is made now."""
    seconds, nanos = divmod(time.time_ns(), 1_000_000_000)
    stamp = {"seconds": seconds, "nanos": nanos}
    return bytes(schema.SubscribeUpdate(created_at=stamp).SerializeToString())


def account_info(write: AccountWrite) -> Any:
    """The write as SubscribeUpdateAccountInfo."""
    return schema.SubscribeUpdateAccountInfo(
        pubkey=write.pubkey,
        lamports=write.lamports,
        owner=write.owner,
        executable=write.executable,
        rent_epoch=write.rent_epoch,
        data=write.data,
        write_version=write.write_version,
        txn_signature=write.signature,
    )


def account_write(info: Any) -> AccountWrite:
    """The write in a SubscribeUpdateAccountInfo; Unreadable where a key has a wrong length."""
    signature = info.txn_signature if info.HasField("txn_signature") else None
    if len(info.pubkey) != 32 or len(info.owner) != 32:
        raise Unreadable("account", f"keys of {len(info.pubkey)} and {len(info.owner)} bytes")
    if signature is not None and len(signature) != 64:
        raise Unreadable("account.txn_signature", f"{len(signature)} bytes instead of 64")
    return AccountWrite(
        info.pubkey,
        info.lamports,
        info.owner,
        info.data,
        info.executable,
        info.rent_epoch,
        info.write_version,
        signature,
    )


def transaction_info(index: int, record: TransactionRecord) -> Any:
    """The transaction at this index of its block as SubscribeUpdateTransactionInfo."""
    wire = record.decoded
    info = schema.SubscribeUpdateTransactionInfo(
        signature=wire.signatures[0], is_vote=is_simple_vote(wire), index=index
    )
    fill_transaction(info.transaction, wire)
    if record.meta is not None:
        fill_meta(info.meta, record.meta)
    return info


def transaction_of(info: Any) -> TransactionRecord:
    """The record in a SubscribeUpdateTransactionInfo; Unreadable or BadTransaction with the place
    of what is wrong.
    """
    record = transaction_record(info)
    if info.signature != info.transaction.signatures[0]:
        raise Unreadable("signature", "not the transaction's first")
    return record


def block_meta(record: SlotRecord, *, entry_count: int) -> Any:
    """What a block says of itself, as SubscribeUpdateBlockMeta."""
    message = schema.SubscribeUpdateBlockMeta(
        executed_transaction_count=len(record.transactions), entries_count=entry_count
    )
    _fill_block(message, record)
    return message


def block(record: SlotRecord, *, entry_count: int) -> Any:
    """The same as SubscribeUpdateBlock, without its transactions, accounts and entries."""
    writes = {write.pubkey for write in record.account_writes or ()}
    message = schema.SubscribeUpdateBlock(
        executed_transaction_count=len(record.transactions),
        entries_count=entry_count,
        updated_account_count=len(writes),
    )
    _fill_block(message, record)
    return message


def is_simple_vote(wire: Wire) -> bool:
    """Whether a validator counts the transaction as a vote: legacy, one or two signatures, and one
    instruction, to the vote program.
    """
    return (
        wire.version == "legacy"
        and len(wire.signatures) <= _MOST_VOTE_SIGNATURES
        and len(wire.instructions) == 1
        and _VOTE_PROGRAM in wire.account_keys
        and wire.account_keys.index(_VOTE_PROGRAM) == wire.instructions[0].program_index
    )


def _fill_block(message: Any, record: SlotRecord) -> None:
    message.slot = record.slot
    message.blockhash = record.blockhash
    message.parent_slot = record.parent_slot
    message.parent_blockhash = record.previous_blockhash
    message.rewards.rewards.extend(reward_message(each) for each in record.rewards or ())
    if record.reward_partitions is not None:
        message.rewards.num_partitions.num_partitions = record.reward_partitions
    if record.block_time is not None:
        message.block_time.timestamp = record.block_time
    if record.block_height is not None:
        message.block_height.block_height = record.block_height


class ClosedSlot(msgspec.Struct, frozen=True, array_like=True):
    """A finalized slot whose ledger part is whole: messages of the stream as they came, the
    transactions in order. `account_writes` is None where they are not proved to be there.
    """

    slot: int
    parent_slot: int
    blockhash: str
    granularity: int
    meta: bytes
    transactions: list[bytes]
    account_writes: list[bytes] | None

    @property
    def size(self) -> int:
        """Bytes of its messages."""
        size = len(self.meta) + sum(map(len, self.transactions))
        return size + sum(map(len, self.account_writes or ()))


def is_vote(packed: bytes) -> bool:
    """Whether a message's transaction is a vote, by what the stream says."""
    return _parse(packed).transaction.transaction.is_vote


def slot_record(closed: ClosedSlot) -> SlotRecord:
    """The record in the messages; Unreadable with the place of what is wrong in them."""
    try:
        meta = _parse(closed.meta).block_meta
        transactions = [_transaction(*each) for each in enumerate(closed.transactions)]
        slot, writes = Slot(closed.slot), closed.account_writes
        return replace(
            record_of(meta, meta.rewards, meta.parent_blockhash, slot, transactions),
            account_writes=None if writes is None else [_write(packed) for packed in writes],
            granularity=Granularity(closed.granularity),
        )
    except DecodeError:
        raise Unreadable("", "a message is damaged") from None


def _transaction(index: int, packed: bytes) -> TransactionRecord:
    try:
        return transaction_of(_parse(packed).transaction.transaction)
    except BadTransaction as fault:
        raise Unreadable(f"transactions[{index}].{fault.place}", fault.reason) from None
    except Unreadable as fault:
        raise fault.inside(f"transactions[{index}]") from None


def _write(packed: bytes) -> AccountWrite:
    return account_write(_parse(packed).account.account)
