"""A summary of the archive, for its page."""

from dataclasses import dataclass

from rewind.models import Baseline, Gap
from rewind.store import baselines
from rewind.store import coverage as store
from rewind.store import gaps as gap_store

_LISTED = 10


@dataclass(frozen=True, slots=True)
class ArchiveOverview:
    """Slots by what became of them; `coarse` are archived ones of which perhaps not every write is
    there. `newest_gaps` are the open ones with the highest slots, of `open_gaps` in all.
    """

    first_slot: int
    last_slot: int
    archived: int
    coarse: int
    skipped: int
    missing: int
    unknown: int
    gap_percent: float | None
    causes: list[tuple[str, int]]
    open_gaps: int
    newest_gaps: list[Gap]
    baselines: list[Baseline]


def archive_overview() -> ArchiveOverview | None:
    """None while nothing is archived."""
    found = store.summary(0, 2**62)
    if found is None:
        return None
    first, last = found.first, found.last
    unknown = gap_store.unknown_slots(first, last)
    slots = last - first + 1
    counted = slots - (skipped := slots - found.archived - found.missing)
    return ArchiveOverview(
        first_slot=first,
        last_slot=last,
        archived=found.archived,
        coarse=found.coarse,
        skipped=skipped,
        missing=found.missing - unknown,
        unknown=unknown,
        gap_percent=100 * found.missing / counted if counted else None,
        causes=gap_store.slots_by_cause(first, last),
        open_gaps=gap_store.count_open(first, last),
        newest_gaps=gap_store.newest_open(first, last, _LISTED),
        baselines=baselines.newest(_LISTED),
    )
