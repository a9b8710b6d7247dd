"""Messages received of a slot that is not closed, over several connections, and those of its final
bank among them (docs/decisions/two-banks.md).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from chain.blocks import Granularity
from chain.units import Slot
from upstream.geyser.block_contents import has_balances, has_registered
from upstream.geyser.messages import ClosedSlot
from upstream.geyser.slot_buffers import (
    EVERY_SLOT,
    RECENT_BLOCKHASHES,
    SLOT_HASHES,
    SLOT_HISTORY,
    SlotBuffer,
    Wholeness,
)
from upstream.geyser.updates import AccountUpdate, BlockMetaUpdate, TransactionUpdate

# Of further banks in a slot the ids are not believed: their messages count as of none.
_MOST_BANKS = 16

Rate = Callable[[SlotBuffer], Wholeness]


@dataclass(slots=True)
class Reception:
    """What one connection sent of a slot: a buffer for each bank_id, 0 for messages without one.
    `confirmed` and `finalized` are the banks that statuses named, `dead` those that died.
    """

    live: bool = False
    banks: dict[int, SlotBuffer] = field(default_factory=dict)
    confirmed: int = 0
    finalized: int = 0
    dead: set[int] = field(default_factory=set)

    @property
    def size(self) -> int:
        return sum(each.size for each in self.banks.values())

    @property
    def metas(self) -> list[BlockMetaUpdate]:
        """Every block message, of whatever bank."""
        return [meta for each in self.banks.values() for meta in _metas(each)]

    def bank(self, bank: int) -> SlotBuffer:
        """The buffer of the bank."""
        found = self.banks.get(bank)
        if found is None:
            if len(self.banks) >= _MOST_BANKS and bank:
                return self.bank(0)
            found = self.banks[bank] = SlotBuffer(live=self.live, bank=bank)
        return found

    def messages(self) -> list[AccountUpdate | TransactionUpdate | BlockMetaUpdate]:
        """All of them, while another thread may add more: each container is copied at once."""
        found: list[AccountUpdate | TransactionUpdate | BlockMetaUpdate] = []
        for buffer in [*self.banks.values()]:
            found += [*buffer.writes.values()]
            found += [*buffer.transactions.values()]
            found += _metas(buffer)
            found += [*buffer.spare]
        return found

    def die(self, bank: int) -> None:
        """A bank died; 0 if it is not said which: what was named by more than its block stays."""
        found = self.banks.pop(bank, None)
        if bank:
            self.dead.add(bank)
        elif found is not None and found.size:
            named = self.banks.items()
            self.banks = {bank: each for bank, each in named if each.writes or each.transactions}


@dataclass(slots=True)
class PendingSlot:
    """What is known of a slot that is not closed: this connection's messages, earlier ones'.
    `buffer` is of the bank that a message came of last.
    """

    now: Reception = field(default_factory=Reception)
    earlier: list[Reception] = field(default_factory=list)
    overflowed: bool = False
    buffer: SlotBuffer = field(init=False)

    def __post_init__(self) -> None:
        self.buffer = self.now.bank(0)

    @property
    def size(self) -> int:
        return self.now.size + sum(each.size for each in self.earlier)

    @property
    def is_of_before(self) -> bool:
        """Whether its block came by earlier connections alone: after a restart of the node another
        one may have its place.
        """
        return not self.now.metas and any(each.metas for each in self.earlier)

    @property
    def metas(self) -> list[BlockMetaUpdate]:
        """Every block message that came."""
        return [meta for each in (*self.earlier, self.now) for meta in each.metas]

    def blocks(self, blockhash: str) -> list[BlockMetaUpdate]:
        """The block messages with the hash; without one, those of this connection."""
        if not blockhash:
            return self.now.metas
        return [each for each in self.metas if each.blockhash == blockhash]

    def bank(self, bank: int) -> SlotBuffer:
        """This connection's buffer of the bank."""
        if self.buffer.bank != bank:
            self.buffer = self.now.bank(bank)
        return self.buffer

    def add(self, update: TransactionUpdate | BlockMetaUpdate) -> int:
        """Adds a message; returns the bytes that it added."""
        return self.bank(update.bank).put(update)

    def die(self, bank: int) -> bool:
        """A bank died, 0 for the one whose messages have no id; False if nothing is left."""
        for each in (*self.earlier, self.now) if not bank else (self.now,):
            each.die(bank)
        self.buffer = self.now.bank(0)
        return self.size > 0

    def name(self, bank: int, *, is_final: bool) -> None:
        """A status says which bank the cluster voted for."""
        self.now.confirmed = bank
        if is_final:
            self.now.finalized = bank

    def set_aside(self) -> None:
        """What follows comes from another connection."""
        if self.now.size:
            # The first has the slot's beginning, which replays may lack; the newest, most of the
            # rest.
            self.earlier = [*self.earlier[:1], self.now]
        self.now = Reception()
        self.buffer = self.now.bank(0)


class Best(NamedTuple):
    """The buffer that proves most, None if there is none, and the final bank's messages of each
    connection. `is_separated`: they could be separated from those of another bank in each.
    """

    buffer: SlotBuffer | None = None
    wholeness: Wholeness = Wholeness.PARTIAL
    buffers: tuple[SlotBuffer, ...] = ()
    is_separated: bool = True


def best_of(
    pending: PendingSlot | None,
    is_blockhash: Callable[[bytes], bool],
    *,
    stores_untouched: bool,
    blockhash: str = "",
) -> Best:
    """Of this connection's messages, alone and together with earlier ones', what proves most.
    `blockhash` is the block's, "" where it is not known otherwise.
    """
    if pending is None or (pending.is_of_before and not blockhash):
        return Best()

    def rate(buffer: SlotBuffer) -> Wholeness:
        return buffer.wholeness(is_blockhash, stores_untouched=stores_untouched)

    receptions = (*pending.earlier, pending.now)
    found = [of_final_bank(each, blockhash, rate) for each in receptions]
    buffers = [each for each in found if each is not None]
    is_separated = len(buffers) == len(found)
    if not buffers or (found[-1] is None and not blockhash):
        return Best(is_separated=is_separated)
    *earlier, newest = buffers
    candidates = [newest]
    together: SlotBuffer | None = newest
    for each in reversed(earlier):
        together = None if together is None else each.joined(together)
        if together is not None:
            candidates.append(together)
    rated = [(rate(each), -place) for place, each in enumerate(candidates)]
    wholeness, place = max(rated)
    received = tuple(each for each in buffers if each.size)
    return Best(candidates[-place], wholeness, received, is_separated)


def closed_slot(slot: Slot, buffer: SlotBuffer, wholeness: Wholeness) -> ClosedSlot:
    """The slot, of a buffer that has at least its ledger part."""
    meta = buffer.meta
    assert meta is not None
    writes = None
    if wholeness >= Wholeness.LAST_WRITES:
        writes = [each.packed for each in buffer.own_writes()]
    return ClosedSlot(
        slot=slot,
        parent_slot=meta.parent_slot,
        blockhash=meta.blockhash,
        granularity=(Granularity.WRITE if wholeness >= Wholeness.EVERY_WRITE else Granularity.SLOT),
        meta=meta.packed,
        transactions=[
            buffer.transactions[index].packed for index in range(len(buffer.transactions))
        ],
        account_writes=writes,
    )


def of_final_bank(reception: Reception, blockhash: str, rate: Rate) -> SlotBuffer | None:
    """The final bank's messages; None where they cannot be separated from another's.

    `blockhash` is the final block's, as a final child says, "" while none does. `rate` says what a
    buffer proves.
    """
    banks = {bank: each for bank, each in reception.banks.items() if each.size}
    if not banks:
        return SlotBuffer(live=reception.live)
    pool = next(iter(banks.values()))
    if len(banks) > 1:
        named = _named(reception, banks, blockhash)
        if named is None:
            return None
        pool = banks[named]
        if 0 in banks:
            pool = _with_unmarked(pool, banks[0])
    elif pool.bank in reception.dead or pool.bank not in (0, reception.finalized or pool.bank):
        return None
    if pool.shows_two_banks():
        return _separated(pool, blockhash, rate)
    is_another = pool.meta is not None and blockhash not in ("", pool.meta.blockhash)
    return SlotBuffer(live=reception.live) if is_another else pool


def _named(reception: Reception, banks: dict[int, SlotBuffer], blockhash: str) -> int | None:
    """The final one of the banks that messages name."""
    named = {bank: each for bank, each in banks.items() if bank}
    alive = named.keys() - reception.dead
    if reception.finalized:
        return reception.finalized if reception.finalized in alive else None
    if len(named) == 1:
        return next(iter(alive), None)
    frozen = [bank for bank in alive if (meta := named[bank].meta) and meta.blockhash == blockhash]
    if reception.confirmed in frozen:
        return reception.confirmed
    return frozen[0] if len(frozen) == 1 else None


def _with_unmarked(bank: SlotBuffer, unmarked: SlotBuffer) -> SlotBuffer:
    """A bank's messages, and those that may be its own or another's."""
    result = SlotBuffer(live=bank.live, bank=bank.bank, meta=bank.meta)
    result.writes = {**unmarked.writes, **bank.writes} if bank.writes else unmarked.writes
    result.transactions = dict(bank.transactions) or unmarked.transactions
    result.spare = list(bank.spare)
    others = unmarked.transactions.values() if bank.transactions else ()
    for update in (*others, *_metas(unmarked), *unmarked.spare):
        result.put(update)
    result.size = bank.size + unmarked.size
    return result


def _separated(pool: SlotBuffer, blockhash: str, rate: Rate) -> SlotBuffer | None:
    """The final bank's messages among those of several. Banks of one slot run one after the other,
    so that each has a run of write versions; of a frozen one RecentBlockhashes has the blockhash.
    """
    metas = [each for each in _metas(pool) if each.blockhash == blockhash]
    if len(metas) != 1:
        return None
    writes = [each for each in pool.spare if isinstance(each, AccountUpdate)]
    sent = [each for each in pool.spare if isinstance(each, TransactionUpdate)]
    candidates: dict[int, list[TransactionUpdate]] = {}
    for update in (*pool.transactions.values(), *sent):
        candidates.setdefault(update.transaction_index, []).append(update)
    found = []
    for run in _runs([*pool.writes.values(), *writes]) or ():
        bank = _bank_of(pool, metas[0], candidates, run)
        if bank is not None and _has_ended(bank, blockhash) and not bank.shows_two_banks():
            found += [bank] if rate(bank) >= Wholeness.LAST_WRITES else []
    if len(found) == 1:
        return found[0]
    # The block alone, if the banks do not differ in it.
    return _bank_of(pool, metas[0], candidates, ())


def _runs(writes: Iterable[AccountUpdate]) -> list[list[AccountUpdate]] | None:
    """The writes of each bank, in order of their versions. A bank ends with SlotHistory when it
    froze; SlotHashes begins one, but for what an epoch's first slots write before it. None where
    such writes could as well be the last ones of the bank before.
    """
    runs: list[list[AccountUpdate]] = [[]]
    loose = 0
    for write in sorted(writes, key=lambda each: each.write_version):
        run = runs[-1]
        if not write.signature and write.pubkey == SLOT_HASHES and loose < len(run):
            if loose:
                return None
            runs.append([])
        is_loose = not write.signature and write.pubkey not in EVERY_SLOT
        loose = loose + 1 if is_loose else 0
        runs[-1].append(write)
        if not write.signature and write.pubkey == SLOT_HISTORY:
            runs.append([])
    return runs


def _bank_of(
    pool: SlotBuffer,
    meta: BlockMetaUpdate,
    candidates: dict[int, list[TransactionUpdate]],
    run: Iterable[AccountUpdate],
) -> SlotBuffer | None:
    """The block with these writes; None where its transactions are not known. What wrote nothing
    in the run did not run in it, for each transaction writes its fee payer; what ran in both banks
    left other balances, or the same message.
    """
    result = SlotBuffer(live=pool.live, bank=pool.bank)
    for write in run:
        result.put(write)
    by_signature: dict[bytes, list[AccountUpdate]] = {}
    for write in result.writes.values():
        by_signature.setdefault(write.signature, []).append(write)
    for index in range(meta.transaction_count):
        choices = candidates.get(index, [])
        if len(choices) > 1:
            wrote = [(each, by_signature.get(each.signature)) for each in choices]
            choices = [each for each, its in wrote if its and has_balances(its, each)]
        if len(choices) != 1:
            return None
        result.put(choices[0])
    result.put(meta)
    return result


def _has_ended(bank: SlotBuffer, blockhash: str) -> bool:
    """Whether the bank registered the blockhash."""
    return any(
        has_registered(write, blockhash, unread=False)
        for (pubkey, _), write in bank.writes.items()
        if pubkey == RECENT_BLOCKHASHES
    )


def _metas(buffer: SlotBuffer) -> list[BlockMetaUpdate]:
    spare = [each for each in buffer.spare if isinstance(each, BlockMetaUpdate)]
    return [buffer.meta, *spare] if buffer.meta is not None else spare
