"""Messages of the stream: each is encoded at most once for all subscribers."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.transaction_errors import transaction_error_bytes
from chain.transactions import Wire, decode_wire
from chain.units import Slot
from localnet.feed import EntryMade, SlotChanged, TransactionRan
from upstream.geyser.messages import account_info, block, block_meta, transaction_info
from upstream.geyser.request_filters import BlockFilter, Slices
from upstream.protobuf import geyser_pb2 as schema


class SlotMessage:
    """A slot reached a status; `bank` is what it names, here and in the other messages, 0 for
    none.
    """

    def __init__(self, changed: SlotChanged, bank: int = 0) -> None:
        self.status = changed.status
        self._bank = bank
        self._changed = changed

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        update = schema.SubscribeUpdate()
        slot = update.slot
        slot.slot = self._changed.slot
        slot.status = cast(schema.SlotStatus, self._changed.status.value)
        if self._changed.parent is not None:
            slot.parent = self._changed.parent
        if self._changed.dead_error is not None:
            slot.dead_error = self._changed.dead_error
        if self._bank:
            slot.bank_id = self._bank
        return bytes(update.SerializeToString())


class AccountMessage:
    """One account write."""

    __slots__ = ("_bank", "_bodies", "_slot", "write")

    def __init__(self, slot: Slot, write: AccountWrite, bank: int = 0) -> None:
        self.write = write
        self._bank = bank
        self._slot = slot
        self._bodies: dict[Slices, bytes] = {}

    def body(self, slices: Slices) -> bytes:
        """The update, with these parts of the data, without filters and created_at."""
        body = self._bodies.get(slices)
        if body is None:
            update = schema.SubscribeUpdate()
            update.account.slot = self._slot
            update.account.account.CopyFrom(self.info(slices))
            if self._bank:
                update.account.bank_id = self._bank
            body = self._bodies[slices] = bytes(update.SerializeToString())
        return body

    def info(self, slices: Slices) -> Any:
        """The account alone, as it stands in a block."""
        write = self.write
        if slices:
            parts = [write.data[offset : offset + length] for offset, length in slices]
            write = write._replace(data=b"".join(parts))
        return account_info(write)


class TransactionMessage:
    """One transaction of a block."""

    def __init__(self, ran: TransactionRan, bank: int = 0) -> None:
        self.signature = ran.signature
        self._ran = ran
        self._bank = bank

    @cached_property
    def info(self) -> Any:
        """The transaction as it stands in a block."""
        return transaction_info(self._ran.index, self._ran.record)

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        update = schema.SubscribeUpdate()
        update.transaction.slot = self._ran.slot
        update.transaction.transaction.CopyFrom(self.info)
        update.transaction.bank_id = self._bank
        return bytes(update.SerializeToString())

    @cached_property
    def status_body(self) -> bytes:
        """The short form, without filters and created_at."""
        update = schema.SubscribeUpdate()
        status = update.transaction_status
        status.slot = self._ran.slot
        status.signature = self._ran.signature
        status.is_vote = self.info.is_vote
        status.index = self._ran.index
        if self.meta["err"] is not None:
            status.err.err = transaction_error_bytes(self.meta["err"])
        return bytes(update.SerializeToString())

    @property
    def is_vote(self) -> bool:
        return bool(self.info.is_vote)

    @property
    def has_failed(self) -> bool:
        return self.meta["err"] is not None

    @property
    def meta(self) -> dict[str, Any]:
        """The status meta; what localnet ran always has one."""
        meta = self._ran.record.meta
        assert meta is not None
        return meta

    @cached_property
    def account_keys(self) -> frozenset[bytes]:
        """Every account of the transaction, loaded ones included."""
        wire: Wire = decode_wire(self._ran.record.wire)
        loaded = self.meta["loadedAddresses"]
        addresses: Iterable[str] = (*loaded["writable"], *loaded["readonly"])
        return frozenset(wire.account_keys).union(map(_key, addresses))

    @cached_property
    def token_owners(self) -> frozenset[bytes]:
        """Who owns a token account of the transaction, before or after it."""
        return frozenset(map(_key, {*_owners(self._before), *_owners(self._after)} - {""}))

    @cached_property
    def changed_token_owners(self) -> frozenset[bytes]:
        """Who owns a token account whose amount the transaction changed, opened or closed."""
        changed = [
            owner
            for ours, theirs in ((self._before, self._after), (self._after, self._before))
            for index, (owner, amount) in ours.items()
            if index not in theirs or theirs[index][1] != amount
        ]
        return frozenset(map(_key, {*changed} - {""}))

    @property
    def _before(self) -> dict[int, tuple[str, str]]:
        return _token_amounts(self.meta["preTokenBalances"])

    @property
    def _after(self) -> dict[int, tuple[str, str]]:
        return _token_amounts(self.meta["postTokenBalances"])


class EntryMessage:
    """One entry of a block."""

    def __init__(self, made: EntryMade, bank: int = 0) -> None:
        self._made = made
        self._bank = bank

    @cached_property
    def info(self) -> Any:
        """The entry as it stands in a block."""
        made = self._made
        return schema.SubscribeUpdateEntry(
            slot=made.slot,
            index=made.index,
            num_hashes=made.num_hashes,
            hash=made.hash,
            executed_transaction_count=made.transaction_count,
            starting_transaction_index=made.starting_transaction_index,
            bank_id=self._bank,
        )

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        return bytes(schema.SubscribeUpdate(entry=self.info).SerializeToString())


class BlockMetaMessage:
    """What a whole block says of itself."""

    def __init__(self, record: SlotRecord, entry_count: int, bank: int = 0) -> None:
        self._record = record
        self._entry_count = entry_count
        self._bank = bank

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        meta = block_meta(self._record, entry_count=self._entry_count)
        meta.bank_id = self._bank
        return bytes(schema.SubscribeUpdate(block_meta=meta).SerializeToString())


@dataclass(slots=True)
class BlockMessage:
    """A whole block, of which each filter wants other parts."""

    record: SlotRecord
    entry_count: int
    accounts: list[AccountMessage]
    transactions: list[TransactionMessage]
    entries: list[EntryMessage]
    _bodies: dict[object, bytes] = field(default_factory=dict)

    def body(self, wanted: BlockFilter, slices: Slices) -> bytes:
        """The update with the parts wanted, without filters and created_at."""
        body = self._bodies.get((wanted, slices))
        if body is not None:
            return body
        update = schema.SubscribeUpdate()
        message = update.block
        message.CopyFrom(block(self.record, entry_count=self.entry_count))
        if wanted.transactions:
            message.transactions.extend(
                each.info for each in self.transactions if wanted.includes(each.account_keys)
            )
        if wanted.accounts:
            message.accounts.extend(
                each.info(slices) for each in self.accounts if wanted.includes((each.write.pubkey,))
            )
        if wanted.entries:
            message.entries.extend(each.info for each in self.entries)
        body = self._bodies[wanted, slices] = bytes(update.SerializeToString())
        return body


Message: TypeAlias = (
    SlotMessage
    | AccountMessage
    | TransactionMessage
    | EntryMessage
    | BlockMessage
    | BlockMetaMessage
)


def _token_amounts(balances: list[dict[str, Any]] | None) -> dict[int, tuple[str, str]]:
    return {
        each["accountIndex"]: (each.get("owner") or "", each["uiTokenAmount"]["amount"])
        for each in balances or ()
    }


def _owners(amounts: dict[int, tuple[str, str]]) -> set[str]:
    return {owner for owner, _ in amounts.values()}


def _key(address: str) -> bytes:
    return bytes(Pubkey.from_string(address))
