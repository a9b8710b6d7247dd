"""A closed slot: its messages as received, and the SlotRecord decoded from them."""

from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from chain.accounts import AccountWrite
from chain.blocks import Granularity, SlotRecord, TransactionRecord
from chain.transactions import BadTransaction
from chain.units import Slot, UnixTimestamp
from upstream.archives import checks
from upstream.archives.errors import Unreadable
from upstream.archives.status_meta import reward_json
from upstream.geyser.messages import account_write, transaction_of
from upstream.protobuf import geyser_pb2 as schema

_parse = schema.SubscribeUpdate.FromString


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
        rewards = [reward_json(each) for each in meta.rewards.rewards]
        writes = closed.account_writes
        return SlotRecord(
            slot=Slot(closed.slot),
            parent_slot=Slot(closed.parent_slot),
            blockhash=checks.blockhash(meta.blockhash, "blockhash"),
            previous_blockhash=checks.blockhash(meta.parent_blockhash, "previousBlockhash"),
            block_time=_optional(meta, "block_time", "timestamp", UnixTimestamp),
            block_height=_optional(meta, "block_height", "block_height", int),
            transactions=[
                _transaction(index, packed) for index, packed in enumerate(closed.transactions)
            ],
            rewards=rewards,
            reward_partitions=_optional(meta.rewards, "num_partitions", "num_partitions", int),
            account_writes=None if writes is None else [_write(packed) for packed in writes],
            granularity=Granularity(closed.granularity),
        )
    except DecodeError:
        raise Unreadable("", "a message is damaged") from None


def _optional(message: Any, name: str, inner: str, kind: Any) -> Any:
    return kind(getattr(getattr(message, name), inner)) if message.HasField(name) else None


def _transaction(index: int, packed: bytes) -> TransactionRecord:
    try:
        return transaction_of(_parse(packed).transaction.transaction)
    except BadTransaction as fault:
        raise Unreadable(f"transactions[{index}].{fault.place}", fault.reason) from None
    except Unreadable as fault:
        raise fault.inside(f"transactions[{index}]") from None


def _write(packed: bytes) -> AccountWrite:
    return account_write(_parse(packed).account.account)
