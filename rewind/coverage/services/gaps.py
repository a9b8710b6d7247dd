"""Gaps of the archive: slots of its range that are neither archived nor proved skipped.

Recording a slot closes the gaps that it fills and opens those that its parent link shows. Between
the archive's ends, a slot that is neither archived nor in an open gap was skipped: closing a range
by hand therefore declares its slots skipped.
"""

from gaps import life_cycle
from gaps.area_gaps import AreaGaps
from rewind.models import Gap
from rewind.recording.store import slots as store

archive_gaps = AreaGaps(
    Gap,
    stored=store.archived_between,
    first_slot=store.first_kept_slot,
    closing_event=life_cycle.PROVED_SKIPPED,
)
