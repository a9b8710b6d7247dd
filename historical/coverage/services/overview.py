"""Summaries of the ledger for the admin."""

from dataclasses import dataclass
from datetime import UTC, datetime

from historical.blocks.services import bounds
from historical.coverage.store import overview as store
from historical.errors import (
    BlockCleanedUp,
    BlockNotAvailable,
    SealedDataDamaged,
    SlotSkipped,
)
from historical.models import Gap, Import
from historical.transactions.outcomes import outcome_of
from historical.transactions.store import transactions


@dataclass(frozen=True, slots=True)
class LedgerOverview:
    """The stored range; `newest_at` is None where the block has no time. `blocks` is an
    estimate unless `exact`.
    """

    first_slot: int
    last_slot: int
    newest_at: datetime | None
    blocks: int
    exact: bool


def ledger_overview() -> LedgerOverview | None:
    """None while the ledger is empty."""
    ends = store.ends()
    if ends is None:
        return None
    blocks, exact = store.block_count()
    return LedgerOverview(ends.first_slot, ends.last_slot, moment_of(ends.last_time), blocks, exact)


@dataclass(frozen=True, slots=True)
class LedgerGaps:
    """Open gaps: causes with their slots, the most first; how many there are; the newest."""

    causes: list[tuple[str, int]]
    open: int
    newest: list[Gap]


def ledger_gaps(*, listed: int = 10) -> LedgerGaps:
    """What is known to be missing."""
    causes, number = store.open_gaps_by_cause()
    return LedgerGaps(causes, number, store.newest_open_gaps(listed))


def last_imports(count: int) -> list[Import]:
    """The latest first."""
    return store.last_imports(count)


def slot_of(signature: bytes) -> int | None:
    """The slot of a stored transaction."""
    place = transactions.place_of(signature)
    return None if place is None else place[0]


def unknown_outcomes(slot: int, transaction_count: int) -> int | None:
    """How many of the block's transactions had no status in its source; None if that cannot be
    read.
    """
    try:
        rows = transactions.listed([(slot, index) for index in range(transaction_count)])
    except SealedDataDamaged:
        return None
    return sum(outcome_of(row.err) == "unknown" for row in rows)


def why_no_block(slot: int) -> str:
    """What the ledger knows of a slot that holds no block, in a sentence."""
    ends = store.ends()
    if ends is None:
        return "The ledger is empty: no block is stored yet."
    stored = f"the ledger holds {ends.first_slot} to {ends.last_slot}"
    match bounds.why_no_block(slot):
        case BlockCleanedUp():
            return f"Slot {slot} lies below the first stored block: {stored}."
        case BlockNotAvailable():
            return f"Slot {slot} lies above the newest stored block: {stored}."
        case SlotSkipped():
            return f"Slot {slot} was skipped: the next block's parent link proves it."
        case _:
            return f"Slot {slot} is not stored: whether it was skipped is not known here."


def moment_of(block_time: int | None) -> datetime | None:
    """Unix seconds as a moment; None for times that no calendar has."""
    try:
        return None if block_time is None else datetime.fromtimestamp(block_time, UTC)
    except (ValueError, OverflowError, OSError):
        return None
