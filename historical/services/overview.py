"""The ledger as a whole, for whoever looks after it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from historical.models import Import
from historical.store import overview as store
from historical.store import transactions


@dataclass(frozen=True, slots=True)
class LedgerOverview:
    """The stored range; `newest_at` is None where the block does not tell its time. `blocks` is an
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


def last_imports(count: int) -> list[Import]:
    """The latest first."""
    return store.last_imports(count)


def slot_of(signature: bytes) -> int | None:
    """The slot of a stored transaction."""
    place = transactions.place_of(signature)
    return None if place is None else place[0]


def moment_of(block_time: int | None) -> datetime | None:
    """Unix seconds as a moment; None for times that no calendar has."""
    try:
        return None if block_time is None else datetime.fromtimestamp(block_time, UTC)
    except (ValueError, OverflowError, OSError):
        return None
