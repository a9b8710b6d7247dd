"""One step of an order: what became of a few of its slots."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from historical.services.checking import Fault


@dataclass(slots=True)
class Step:
    """Slots by what became of them; `next_slot` is where the next step begins."""

    next_slot: int
    sound: int = 0
    stored: int = 0
    changed: int = 0
    ledger_faults: list[Fault] = field(default_factory=list)
    archive_faults: list[Fault] = field(default_factory=list)

    @property
    def findings(self) -> list[tuple[str, Fault]]:
        return [
            *(("ledger", fault) for fault in self.ledger_faults),
            *(("archive", fault) for fault in self.archive_faults),
        ]

    def count_sound(self, slots: Sequence[int]) -> None:
        """Those of the slots that no finding is of are as they should be."""
        found = {fault.slot for _, fault in self.findings}
        self.sound += len(set(slots) - found)


@dataclass(frozen=True, slots=True)
class Asked:
    """What of an order its steps go by."""

    first_slot: int
    last_slot: int
    archive: bool
    ledger: bool
    source: str
    now: datetime
