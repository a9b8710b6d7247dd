"""The state of single slots in the archive and the ledger."""

from dataclasses import dataclass
from enum import StrEnum

from chain.blocks import Granularity
from chain.slot_ranges import SlotRange
from gaps.life_cycle import open_gaps
from gaps.slot_gap import GapState, SlotGap
from historical.blocks.store import blocks as ledger
from historical.models import Gap as LedgerGap
from rewind.coverage.services.coverage_map import Ranges
from rewind.models import Gap as ArchiveGap
from rewind.recording.store import slots as store

MOST_SLOTS = 2_000


class State(StrEnum):
    """What became of a slot in an area."""

    HELD = "held"
    COARSE = "last writes"
    FILTERED = "filtered"
    SKIPPED = "skipped"
    MISSING = "missing"
    UNKNOWN = "unknown"
    GIVEN_UP = "given up"
    NOT_COVERED = "not covered"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class SlotStates:
    """A slot in both areas; the gap's number where it is in an open one."""

    slot: int
    archive: State
    ledger: State
    archive_gap: int | None
    ledger_gap: int | None


def slot_states(found: Ranges, window: SlotRange) -> list[SlotStates]:
    """Each slot of the window, ascending; a window of at most MOST_SLOTS."""
    window = SlotRange(window.first, min(window.last, window.first + MOST_SLOTS - 1))
    blocks = store.block_transactions(*window)
    archived = {
        slot: _archived(granularity, changes, blocks.get(slot, 0))
        for slot, granularity, changes in store.contents_between(*window)
    }
    stored = dict.fromkeys(blocks, State.HELD)
    for slot, parent in ledger.links_between(*window, and_next=True):
        for skipped in range(max(parent + 1, window.first), min(slot - 1, window.last) + 1):
            stored.setdefault(skipped, State.SKIPPED)
    archive_gaps, ledger_gaps = _gaps(ArchiveGap, window), _gaps(LedgerGap, window)
    return [
        SlotStates(
            slot,
            _state(slot, found.archive, archived, archive_gaps, State.SKIPPED),
            _state(slot, found.ledger, stored, ledger_gaps, State.NOT_COVERED),
            archive_gaps[slot][0] if slot in archive_gaps else None,
            ledger_gaps[slot][0] if slot in ledger_gaps else None,
        )
        for slot in range(window.first, window.last + 1)
    ]


def _archived(granularity: int, changes: int, transactions: int) -> State:
    if transactions and not changes:
        return State.FILTERED  # every transaction writes: what it wrote was dropped
    return State.HELD if granularity == Granularity.WRITE else State.COARSE


def _gaps(model: type[SlotGap], window: SlotRange) -> dict[int, tuple[int, State]]:
    found: dict[int, tuple[int, State]] = {}
    for gap in open_gaps(model, window):
        is_wanted = gap.state is GapState.OPEN
        state = State(str(gap.status)) if is_wanted else State.GIVEN_UP
        for slot in range(max(gap.from_slot, window.first), min(gap.to_slot, window.last) + 1):
            found[slot] = gap.pk, state
    return found


def _state(
    slot: int,
    reach: SlotRange | None,
    held: dict[int, State],
    gaps: dict[int, tuple[int, State]],
    otherwise: State,
) -> State:
    if slot in gaps and slot not in held:
        return gaps[slot][1]  # also beyond the newest slot: it is waited for
    if reach is None or not reach.first <= slot <= reach.last:
        return State.OUTSIDE
    return held.get(slot, otherwise)
