"""When a subscriber of each commitment gets what: as it happens, or slot by slot later."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from chain.commitment import Commitment
from chain.units import Slot
from localnet.feed import (
    AccountWritten,
    BlockMade,
    EntryMade,
    Happening,
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
    """Happenings in, messages out, each with the commitment whose subscribers it is for.

    PROCESSED subscribers get each message as it happens. CONFIRMED and FINALIZED ones get a slot's
    when it has come so far, with the last write of each account alone. Slot statuses are for all
    (None) at once.
    """

    def __init__(self) -> None:
        self._slots: dict[Slot, _Slot] = {}

    def messages(self, happening: Happening) -> Iterator[tuple[Commitment | None, Message]]:
        match happening:
            case AccountWritten():
                account = AccountMessage(happening.slot, happening.write)
                accounts = self._slot(happening.slot).accounts
                before = accounts.get(happening.write.pubkey)
                if before is None or before.write.write_version < happening.write.write_version:
                    accounts[happening.write.pubkey] = account
                yield Commitment.PROCESSED, account
            case TransactionRan():
                transaction = TransactionMessage(happening)
                self._slot(happening.slot).transactions.append(transaction)
                yield Commitment.PROCESSED, transaction
            case EntryMade():
                entry = EntryMessage(happening)
                self._slot(happening.slot).entries.append(entry)
                yield Commitment.PROCESSED, entry
            case BlockMade():
                for message in self._block(happening):
                    yield Commitment.PROCESSED, message
            case SlotChanged():
                yield from self._status(happening)

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


def last_writes(happenings: Iterable[Happening]) -> list[Happening]:
    """The same without the writes that were written over in their slot."""
    kept: list[Happening] = []
    seen: set[tuple[Slot, bytes]] = set()
    for happening in reversed(list(happenings)):
        if isinstance(happening, AccountWritten):
            written = (happening.slot, happening.write.pubkey)
            if written in seen:
                continue
            seen.add(written)
        kept.append(happening)
    return kept[::-1]
