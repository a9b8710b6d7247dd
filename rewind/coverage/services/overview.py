"""A summary of the archive, for its page."""

from dataclasses import dataclass

from rewind.baselines.models import Baseline
from rewind.baselines.store import baselines
from rewind.coverage.store import coverage as store
from rewind.models import Gap
from rewind.recording.store import gaps as gap_store

_LISTED = 10


@dataclass(frozen=True, slots=True)
class ArchiveOverview:
    """`coarse` are archived slots that perhaps lack some writes. `newest_gaps` are the
    open ones with the highest slots, of `open_gaps` in all.
    """

    archived: int
    coarse: int
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
    counted = found.archived + found.missing
    return ArchiveOverview(
        archived=found.archived,
        coarse=found.coarse,
        gap_percent=100 * found.missing / counted if counted else None,
        causes=gap_store.slots_by_cause(first, last),
        open_gaps=gap_store.count_open(first, last),
        newest_gaps=gap_store.newest_open(first, last, _LISTED),
        baselines=baselines.newest(_LISTED),
    )
