"""Baselines, as getRewindCoverage lists them."""

from msgspec import UNSET, UnsetType

from jsonrpc.wire import Result
from rewind.baselines.models import Baseline


class BaselineEntry(Result, frozen=True, kw_only=True):
    """A snapshot that was imported: what every account was at the end of its slot.

    slot: the slot at whose end this was the state
    base_slot: the slot of the full snapshot that it builds on; absent for a full one
    proven: whether its accounts make the lattice hash that it declares, and with it the bank's hash
    why_unproven: why that is not known; absent for a proven one
    bank_hash: the hash of the slot's bank; absent without one in the file
    """

    slot: int
    base_slot: int | UnsetType = UNSET
    proven: bool
    why_unproven: str | UnsetType = UNSET
    bank_hash: str | UnsetType = UNSET

    @classmethod
    def of(cls, row: Baseline) -> "BaselineEntry":
        """Of a baseline as the table has it."""
        return cls(
            slot=row.slot,
            base_slot=UNSET if row.base_slot is None else row.base_slot,
            proven=row.proven,
            why_unproven=UNSET if row.proven else row.why_unproven,
            bank_hash=UNSET if row.bank_hash is None else str(row.bank_hash),
        )
