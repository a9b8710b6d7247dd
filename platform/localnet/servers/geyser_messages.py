"""Messages of localnet's stream that are made of its own events."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from chain.blocks import SlotRecord
from localnet.feed import SlotChanged
from upstream.geyser.messages import block, block_meta
from upstream.geyser.request_filters import BlockFilter, Slices
from upstream.geyser.sent_messages import (
    AccountMessage,
    EntryMessage,
    TransactionMessage,
    block_body,
    slot_body,
)
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
        changed, error = self._changed, self._changed.dead_error or ""
        return slot_body(changed.slot, changed.parent, changed.status.value, error, bank=self._bank)


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
    """A whole block. Each filter wants other parts of it."""

    record: SlotRecord
    entry_count: int
    accounts: list[AccountMessage]
    transactions: list[TransactionMessage]
    entries: list[EntryMessage]
    _bodies: dict[object, bytes] = field(default_factory=dict)

    def body(self, wanted: BlockFilter, slices: Slices) -> bytes:
        """The update with the parts wanted, without filters and created_at."""
        body = self._bodies.get((wanted, slices))
        if body is None:
            body = self._bodies[wanted, slices] = block_body(
                block(self.record, entry_count=self.entry_count),
                wanted,
                slices,
                transactions=self.transactions,
                accounts=self.accounts,
                entries=self.entries,
            )
        return body


Message: TypeAlias = (
    SlotMessage
    | AccountMessage
    | TransactionMessage
    | EntryMessage
    | BlockMessage
    | BlockMetaMessage
)
