"""One step of an order, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from historical.coverage.services.checking import Fault


@dataclass(slots=True)
class Step:
    """Counts of slots by result, and of transactions that were verified; `next_slot` is where the
    next step begins.
    """

    next_slot: int
    sound: int = 0
    stored: int = 0
    changed: int = 0
    transactions: int = 0
    ledger_faults: list[Fault] = field(default_factory=list)
    archive_faults: list[Fault] = field(default_factory=list)

    @property
    def findings(self) -> list[tuple[str, Fault]]:
        return [
            *(("ledger", fault) for fault in self.ledger_faults),
            *(("archive", fault) for fault in self.archive_faults),
        ]

    def count_sound(self, slots: Sequence[int]) -> None:
        """Counts the slots without a finding as correct."""
        found = {fault.slot for _, fault in self.findings}
        self.sound += len(set(slots) - found)


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The options of an order that its steps need."""

    first_slot: int
    last_slot: int
    archive: bool
    ledger: bool
    source: str
    now: datetime
