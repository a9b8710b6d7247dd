"""Content: what happened in one slot, from the live feed or from what is stored."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from solders.account import Account
from solders.pubkey import Pubkey

from chain.blocks import SlotRecord, TransactionRecord
from chain.transaction_errors import transaction_error_json
from chain.units import Slot, UnixTimestamp
from livefeed.messages import Level, Reached
from upstream.archives.status_meta import reward_json
from upstream.geyser.messages import account_write, transaction_of
from upstream.geyser.updates import account_keys
from upstream.protobuf import geyser_pb2 as schema

_parse = schema.SubscribeUpdate.FromString


class Written(NamedTuple):
    """An account as it was at the slot's end; `place` is the index of the transaction that wrote
    it last, None for one that no transaction wrote.
    """

    pubkey: bytes
    account: Account
    place: int | None


@dataclass(eq=False)
class Ran:
    """A transaction at its index in the block; its record is decoded when it is asked for."""

    index: int
    signature: bytes
    keys: frozenset[bytes]
    is_vote: bool
    error: Any
    # None of one that only paid its fee, which was not executed.
    logs: list[str] | None
    read: Callable[[], TransactionRecord] = field(repr=False)

    @cached_property
    def record(self) -> TransactionRecord:
        return self.read()


@dataclass(eq=False, slots=True)
class Content:
    """`texts` are results that were rendered already, by what they depend on. `header` is the block
    without its transactions, the counts are of the whole block; `at` is when it came, in Unix
    seconds.
    """

    slot: int
    parent: int | None
    level: Level
    accounts: list[Written] = field(default_factory=list)
    transactions: list[Ran] = field(default_factory=list)
    header: SlotRecord | None = None
    texts: dict[Any, bytes] = field(default_factory=dict)
    at: float = 0.0
    transaction_count: int = 0
    failed_count: int = 0
    entry_count: int = 0


def content_of(reached: Reached) -> Content:
    """What the live feed sent of a slot. Raises Unreadable."""
    accounts = [
        _written(packed, index)
        for packed, index in zip(reached.accounts, reached.indexes, strict=True)
    ]
    return Content(
        reached.slot,
        reached.parent,
        reached.level,
        accounts,
        [_ran(packed) for packed in reached.transactions],
        None if reached.block is None else _header(reached.block),
        at=reached.at,
        transaction_count=reached.transaction_count,
        failed_count=reached.failed_count,
        entry_count=0 if reached.block is None else _entry_count(reached.block),
    )


def _written(packed: bytes, index: int) -> Written:
    write = account_write(_parse(packed).account.account)
    return Written(
        write.pubkey,
        account_of(write.lamports, write.data, write.owner, write.executable, write.rent_epoch),
        None if index < 0 else index,
    )


def account_of(
    lamports: int, data: bytes, owner: bytes, executable: bool, rent_epoch: int
) -> Account:
    """The account; a closed one has nothing, and belongs to the system program."""
    if not lamports:
        return Account(0, b"", Pubkey.default(), False, rent_epoch)
    return Account(lamports, data, Pubkey(owner), executable, rent_epoch)


def _ran(packed: bytes) -> Ran:
    info = _parse(packed).transaction.transaction
    meta = info.meta
    keys = frozenset(account_keys(info))
    error = transaction_error_json(meta.err.err) if meta.err.err else None
    logs = None if meta.log_messages_none else [*meta.log_messages]
    return Ran(
        info.index, info.signature, keys, info.is_vote, error, logs, lambda: transaction_of(info)
    )


def _entry_count(packed: bytes) -> int:
    return int(_parse(packed).block_meta.entries_count)


def _header(packed: bytes) -> SlotRecord:
    meta = _parse(packed).block_meta
    time = meta.block_time.timestamp if meta.HasField("block_time") else None
    height = meta.block_height.block_height if meta.HasField("block_height") else None
    partitions = meta.rewards.num_partitions.num_partitions
    return SlotRecord(
        slot=Slot(meta.slot),
        parent_slot=Slot(meta.parent_slot),
        blockhash=meta.blockhash,
        previous_blockhash=meta.parent_blockhash,
        block_time=None if time is None else UnixTimestamp(time),
        block_height=height,
        transactions=[],
        rewards=[reward_json(each) for each in meta.rewards.rewards],
        reward_partitions=partitions or None,
    )
