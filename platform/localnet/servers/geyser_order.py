"""When updates are delivered, by commitment: as they happen, or slot by slot later."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from chain.commitment import Commitment
from chain.units import Slot
from localnet.feed import (
    AccountWritten,
    BlockMade,
    ChainEvent,
    EntryMade,
    SlotChanged,
    SlotStatus,
    TransactionRan,
)
from localnet.servers.geyser_messages import (
    AccountMessage,
    BlockMessage,
    BlockMetaMessage,
    EntryMessage,
    Message,
    SlotMessage,
    TransactionMessage,
)

_REACHED = {
    SlotStatus.CONFIRMED: Commitment.CONFIRMED,
    SlotStatus.FINALIZED: Commitment.FINALIZED,
}


@dataclass(slots=True)
class _Slot:
    """What happened in a slot so far; of each account the last write."""

    accounts: dict[bytes, AccountMessage] = field(default_factory=dict)
    transactions: list[TransactionMessage] = field(default_factory=list)
    entries: list[EntryMessage] = field(default_factory=list)
    whole: list[Message] = field(default_factory=list)

    def messages(self) -> Iterator[Message]:
        yield from self.accounts.values()
        yield from self.transactions
        yield from self.entries
        yield from self.whole


class Order:
    """Events in, messages out, each with the commitment whose subscribers it is for.

    PROCESSED subscribers get each message as it happens. CONFIRMED and FINALIZED ones get a slot's
    when it has come so far, with the last write of each account alone. Slot statuses are for all
    (None) at once.
    """

    def __init__(self) -> None:
        self._slots: dict[Slot, _Slot] = {}

    def messages(self, event: ChainEvent) -> Iterator[tuple[Commitment | None, Message]]:
        match event:
            case AccountWritten():
                account = AccountMessage(event.slot, event.write)
                accounts = self._slot(event.slot).accounts
                before = accounts.get(event.write.pubkey)
                if before is None or before.write.write_version < event.write.write_version:
                    accounts[event.write.pubkey] = account
                yield Commitment.PROCESSED, account
            case TransactionRan():
                transaction = TransactionMessage(event)
                self._slot(event.slot).transactions.append(transaction)
                yield Commitment.PROCESSED, transaction
            case EntryMade():
                entry = EntryMessage(event)
                self._slot(event.slot).entries.append(entry)
                yield Commitment.PROCESSED, entry
            case BlockMade():
                for message in self._block(event):
                    yield Commitment.PROCESSED, message
            case SlotChanged():
                yield from self._status(event)

    def _slot(self, slot: Slot) -> _Slot:
        return self._slots.setdefault(slot, _Slot())

    def _block(self, made: BlockMade) -> list[Message]:
        slot = self._slot(made.record.slot)
        block = BlockMessage(
            made.record,
            made.entry_count,
            list(slot.accounts.values()),
            slot.transactions,
            slot.entries,
        )
        slot.whole = [block, BlockMetaMessage(made.record, made.entry_count)]
        return slot.whole

    def _status(self, changed: SlotChanged) -> Iterator[tuple[Commitment | None, Message]]:
        reached = _REACHED.get(changed.status)
        if reached is not None and changed.slot in self._slots:
            for message in self._slots[changed.slot].messages():
                yield reached, message
        yield None, SlotMessage(changed)
        if changed.status is SlotStatus.FINALIZED:
            # What is older and was never finalized stood on a fork.
            for slot in [slot for slot in self._slots if slot <= changed.slot]:
                del self._slots[slot]
        elif changed.status is SlotStatus.DEAD:
            self._slots.pop(changed.slot, None)


def last_writes(events: Iterable[ChainEvent]) -> list[ChainEvent]:
    """The same without the writes that were written over in their slot."""
    kept: list[ChainEvent] = []
    seen: set[tuple[Slot, bytes]] = set()
    for event in reversed(list(events)):
        if isinstance(event, AccountWritten):
            written = (event.slot, event.write.pubkey)
            if written in seen:
                continue
            seen.add(written)
        kept.append(event)
    return kept[::-1]
