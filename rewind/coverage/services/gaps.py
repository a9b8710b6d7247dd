"""Gaps of the archive: slots of its range that are neither archived nor proved skipped.

Recording a slot closes the gaps that it fills and opens those that its parent link shows. Between
the archive's ends, a slot that is neither archived nor in an open gap was skipped: closing a range
by hand therefore declares its slots skipped.
"""

from chain.units import Slot
from gaps import life_cycle
from rewind.models import Gap
from rewind.recording.store import gaps as gap_store
from rewind.recording.store import slots as store

archive_gaps = life_cycle.AreaGaps(
    Gap,
    stored=store.archived_between,
    first_slot=store.first_kept_slot,
    closing_event=life_cycle.PROVED_SKIPPED,
)


def resume_slot() -> Slot | None:
    """Up to here nothing is left for a stream to give: all is archived, skipped, or a gap that has
    been tried to be filled since, which follows its own clock. None while the archive is empty.
    """
    found = store.bounds()
    if found is None:
        return None
    untried = gap_store.lowest_untried(*found)
    return found[1] if untried is None else Slot(untried - 1)
