"""Resolving positions: where one lies, and whether the archive has it."""

from dataclasses import dataclass, field

from solders.signature import Signature

from chain.units import Slot
from gaps.coverage import GapEntry
from gaps.slot_gap import GapStatus
from historical.transactions.services import recorded_transactions
from rewind.accounts.store import slot_lookup as store
from rewind.accounts.store.prefetching import Ahead
from rewind.accounts.store.slot_lookup import SlotLookup
from rewind.baselines.store import baselines
from rewind.errors import (
    IndexOutOfRange,
    SlotInArchiveGap,
    SlotTooNew,
    SlotTooOld,
    UnknownSignature,
)
from rewind.positions import CARRIED, END_OF_SLOT, Asked, Position
from rewind.recording.store import gaps as gap_store

# What the wire may name and no table holds.
_HIGHEST_SLOT = 2**62


@dataclass(frozen=True, slots=True)
class ResolvedPosition:
    """A position of the archive. `slot` is the caller's (`context.slot`); `is_coarse` says that of
    that slot perhaps only each account's last write is known; `layout` goes to the store. `gap` is
    the newest one that begins at or below the slot. Below the archive's first slot `unseen_to` is
    the last that was never followed, and `lost` the newest run that left the window while missing,
    whose edge is `first_kept`. `ahead` is what was read with it.
    """

    slot: Slot
    position: Position
    earliest: Slot
    latest: Slot
    is_coarse: bool
    layout: int
    gap: GapEntry | None = None
    first_kept: int = 0
    unseen_to: int | None = None
    lost: GapEntry | None = None
    ahead: Ahead | None = field(default=None, compare=False, repr=False)

    def gap_since(self, state: Position | None) -> GapEntry | None:
        """The newest open gap between the place that a state is of and the position: what was
        written in it is not known. None for a state: its age is not known.
        """
        gap = self.gap
        if gap is None or (state is not None and gap.to_slot <= _known_to(state)):
            return None
        return gap

    def unseen_since(self, state: Position | None) -> GapEntry | None:
        """The same of all slots that the archive has not seen, those below its window too."""
        gap = self.gap_since(state)
        if gap is not None or state is None:
            return gap
        if self.unseen_to is not None and self.unseen_to > _known_to(state):
            first = _known_to(state) + 1
            return GapEntry(from_slot=first, to_slot=self.unseen_to, status="unknown")
        if self.lost is None:
            return None
        # A row that retention carried over does not show how old it is.
        is_carried = state.order == CARRIED and state.slot <= self.first_kept
        return self.lost if is_carried or self.lost.to_slot > _known_to(state) else None


def _known_to(state: Position) -> int:
    """The slot up to which nothing came after the state."""
    return state.slot - 1 if state.order == CARRIED else state.slot


class Reader:
    """What `resolve_position` reads; subclasses read more in the same round trip."""

    ahead: Ahead | None = None

    def around(self, signature: Signature, *, after: bool) -> Position | None:
        """The position before or after the ledger's transaction; None where it does not have it."""
        found = recorded_transactions.place_of(signature)
        return None if found is None else position_of(*found, after=after)

    def look_up(self, position: Position, *, with_block: bool) -> SlotLookup:
        """What there is to know of the slot; with `with_block` its `transactions` may be asked."""
        return store.look_up_slot(position.slot)

    def transactions(self, slot: Slot) -> int | None:
        """How many the slot's block has; None where the ledger does not have it."""
        block = recorded_transactions.block_of(slot)
        return None if block is None else block.transactions


def resolve_position(
    asked: Asked, *, tolerate_gaps: bool = False, side: str = "", reader: Reader | None = None
) -> ResolvedPosition:
    """Raises, in this order, SlotTooNew, SlotTooOld, UnknownSignature, IndexOutOfRange and
    SlotInArchiveGap (which `tolerate_gaps` lifts). `side` is what errors call the position.
    """
    reader = reader or Reader()
    slot, index = asked.slot, asked.index
    if asked.signature is not None:
        found = reader.around(asked.signature, after=asked.after)
        if found is None:
            raise UnknownSignature(asked.signature, side)
        position, slot = found, found.slot
    else:
        assert slot is not None
        position = position_at(slot, index, after=asked.after)
    is_indexed = index is not None and asked.signature is None
    lookup = reader.look_up(position, with_block=is_indexed)
    if lookup.latest is None:
        lookup = _on_baselines(lookup, position)
    if lookup.latest is None or lookup.earliest is None or slot > lookup.latest:
        raise SlotTooNew(slot, None if lookup.latest is None else Slot(lookup.latest), side)
    if slot < lookup.earliest:
        raise SlotTooOld(slot, Slot(lookup.earliest), side)
    gap = _gap_of(lookup)
    if index is not None and is_indexed:
        # A skipped slot has none; without the ledger's block it is not known.
        is_skipped = lookup.granularity is None and not (gap and gap.to_slot >= slot)
        transactions = 0 if is_skipped else reader.transactions(Slot(slot))
        if transactions is not None and index >= transactions:
            raise IndexOutOfRange(Slot(slot), index, transactions)
    if gap is not None and gap.to_slot >= slot and not tolerate_gaps:
        # Gaps that touch are several where their causes differ: the caller has to know the whole.
        first, last = gap_store.run_of(gap.from_slot) or (gap.from_slot, gap.to_slot)
        raise SlotInArchiveGap(slot, Slot(first), Slot(last), gap.status, side)
    return ResolvedPosition(
        slot=Slot(slot),
        position=position,
        earliest=Slot(lookup.earliest),
        latest=Slot(lookup.latest),
        is_coarse=bool(lookup.granularity),
        layout=lookup.layout,
        gap=gap,
        first_kept=lookup.first_kept,
        unseen_to=lookup.unseen_to,
        lost=_lost_of(lookup),
        ahead=reader.ahead,
    )


def before_range(from_slot: int, to_slot: int) -> ResolvedPosition:
    """Right before anything happened in a range of slots that lies in the archive. Raises
    SlotTooNew of its end, then SlotTooOld of its beginning.
    """
    slot = min(from_slot, _HIGHEST_SLOT) - 1
    lookup = store.look_up_slot(slot)
    if lookup.latest is None or lookup.earliest is None or to_slot > lookup.latest:
        raise SlotTooNew(to_slot, None if lookup.latest is None else Slot(lookup.latest))
    if from_slot < lookup.earliest:
        raise SlotTooOld(from_slot, Slot(lookup.earliest))
    return ResolvedPosition(
        slot=Slot(slot),
        position=Position.end_of(slot),
        earliest=Slot(lookup.earliest),
        latest=Slot(lookup.latest),
        is_coarse=False,
        layout=lookup.layout,
        gap=_gap_of(lookup),
        first_kept=lookup.first_kept,
        unseen_to=lookup.unseen_to,
        lost=_lost_of(lookup),
    )


def require_kept(
    resolved: ResolvedPosition, side: str = "", *, earliest: int | None = None
) -> None:
    """For who found nothing: not because the slot left the archive meanwhile. Raises SlotTooOld.
    `earliest` is the archive's first slot from who read it with or after the states.
    """
    if earliest is None:
        earliest = store.look_up_slot(resolved.slot).earliest
    if earliest is not None and resolved.slot < earliest:
        raise SlotTooOld(resolved.slot, Slot(earliest), side)


def _on_baselines(lookup: SlotLookup, position: Position) -> SlotLookup:
    """The same where no slot is archived: baselines can be read at the ends of their slots, and
    what lies between them is missing.
    """
    slot = position.slot
    around = baselines.around(slot)
    lowest, highest = around.lowest, around.highest
    first = last = None
    if around.below is not None and around.below == slot:
        if position.order < END_OF_SLOT:
            first = last = slot
    elif around.below is not None and around.above is not None:
        first, last = around.below + 1, around.above - 1
    status = None if first is None else GapStatus.MISSING.value
    return lookup._replace(
        earliest=lowest, latest=highest, gap_first=first, gap_last=last, gap_status=status
    )


def _gap_of(lookup: SlotLookup) -> GapEntry | None:
    if lookup.gap_first is None or lookup.gap_last is None:
        return None
    return GapEntry.of(lookup.gap_first, lookup.gap_last, lookup.gap_status)


def _lost_of(lookup: SlotLookup) -> GapEntry | None:
    if lookup.lost_first is None or lookup.lost_last is None:
        return None
    return GapEntry.of(lookup.lost_first, lookup.lost_last, "missing")


def position_at(slot: int, index: int | None = None, *, after: bool = True) -> Position:
    """The same of any number that a caller may name."""
    return position_of(min(slot, _HIGHEST_SLOT), index, after=after)


def position_of(slot: int, index: int | None, *, after: bool) -> Position:
    """The end of the slot, or right before or after its transaction of that index."""
    if index is None:
        return Position.end_of(slot)
    # No block has so many; the end of the slot comes after all of them.
    index = min(index, END_OF_SLOT - 1)
    return Position(slot, index) if after else Position.before(slot, index)
