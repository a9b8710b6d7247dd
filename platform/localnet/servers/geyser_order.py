"""When updates are delivered, by commitment: as they happen, or slot by slot later."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from chain.commitment import Commitment
from chain.units import Slot
from localnet.faults import Faults
from localnet.feed import (
    AccountWritten,
    BlockMade,
    ChainEvent,
    EntryMade,
    SlotChanged,
    SlotStatus,
    TransactionRan,
    slot_of,
)
from localnet.servers.geyser_messages import (
    BlockMessage,
    BlockMetaMessage,
    Message,
    SlotMessage,
)
from upstream.geyser.messages import transaction_info
from upstream.geyser.sent_messages import AccountMessage, EntryMessage, TransactionMessage
from upstream.protobuf import geyser_pb2 as schema

# Statuses that are of no bank, and those of them that name no parent: shreds alone are known then.
_OF_THE_SLOT = (SlotStatus.FIRST_SHRED_RECEIVED, SlotStatus.COMPLETED, SlotStatus.DEAD)
_OF_SHREDS = (SlotStatus.FIRST_SHRED_RECEIVED, SlotStatus.COMPLETED)
_REACHED = {
    SlotStatus.CONFIRMED: Commitment.CONFIRMED,
    SlotStatus.FINALIZED: Commitment.FINALIZED,
}


@dataclass(slots=True)
class _Slot:
    """What happened in a bank so far; of each account the last write."""

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

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        # By slot and bank.
        self._slots: dict[tuple[Slot, int], _Slot] = {}

    def messages(self, event: ChainEvent) -> Iterator[tuple[Commitment | None, Message]]:
        match event:
            case AccountWritten():
                account = AccountMessage(event.slot, event.write, self._named(event.bank))
                accounts = self._slot(event.slot, event.bank).accounts
                before = accounts.get(event.write.pubkey)
                if before is None or before.write.write_version < event.write.write_version:
                    accounts[event.write.pubkey] = account
                yield Commitment.PROCESSED, account
            case TransactionRan():
                info = transaction_info(event.index, event.record)
                transaction = TransactionMessage(event.slot, info, self._named(event.bank))
                self._slot(event.slot, event.bank).transactions.append(transaction)
                yield Commitment.PROCESSED, transaction
            case EntryMade():
                entry = EntryMessage(_entry_info(event, self._named(event.bank)))
                self._slot(event.slot, event.bank).entries.append(entry)
                yield Commitment.PROCESSED, entry
            case BlockMade():
                for message in self._block(event):
                    yield Commitment.PROCESSED, message
            case SlotChanged():
                yield from self._status(event)

    def _named(self, bank: int) -> int:
        """The bank that a message names; 0 for none."""
        return bank if self._faults.bank_ids == "all" else 0

    def _slot(self, slot: Slot, bank: int) -> _Slot:
        return self._slots.setdefault((slot, bank), _Slot())

    def _block(self, made: BlockMade) -> list[Message]:
        slot = self._slot(made.record.slot, made.bank)
        block = BlockMessage(
            made.record,
            made.entry_count,
            list(slot.accounts.values()),
            slot.transactions,
            slot.entries,
        )
        bank = 0 if self._faults.bank_ids == "none" else made.bank
        slot.whole = [block, BlockMetaMessage(made.record, made.entry_count, bank)]
        return slot.whole

    def _status(self, changed: SlotChanged) -> Iterator[tuple[Commitment | None, Message]]:
        reached = _REACHED.get(changed.status)
        known = self._slots.get((changed.slot, changed.bank))
        if reached is not None and known is not None:
            for message in known.messages():
                yield reached, message
        is_slots = changed.status in _OF_THE_SLOT
        shown = replace(changed, parent=None) if changed.status in _OF_SHREDS else changed
        yield None, SlotMessage(shown, 0 if is_slots else self._named(changed.bank))
        if changed.status is SlotStatus.FINALIZED:
            # What is older and was never finalized was on a fork, or in a dropped bank.
            for key in [key for key in self._slots if key[0] <= changed.slot]:
                del self._slots[key]
        elif changed.status is SlotStatus.DEAD:
            self._slots.pop((changed.slot, changed.bank), None)


def _entry_info(made: EntryMade, bank: int) -> Any:
    return schema.SubscribeUpdateEntry(
        slot=made.slot,
        index=made.index,
        num_hashes=made.num_hashes,
        hash=made.hash,
        executed_transaction_count=made.transaction_count,
        starting_transaction_index=made.starting_transaction_index,
        bank_id=bank,
    )


def replayed(events: Iterable[ChainEvent]) -> Iterator[ChainEvent]:
    """The events of some slots, slot by slot, as a plugin replays them: all that happened in the
    slot, then that it was processed, confirmed and finalized. It does not say again what else a
    slot goes through. A slot that is not whole yet, died or has two banks is as it was.
    """
    for _, group in groupby(events, key=slot_of):
        found = list(group)
        statuses = [each for each in found if isinstance(each, SlotChanged)]
        made = [each for each in found if isinstance(each, BlockMade)]
        is_dead = any(each.status is SlotStatus.DEAD for each in statuses)
        if is_dead or len(made) != 1 or len({each.bank for each in statuses}) > 1:
            yield from found
        else:
            yield from (each for each in found if not isinstance(each, SlotChanged))
            yield from (each for each in statuses if each.status <= SlotStatus.FINALIZED)


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
