"""Builds the index of sealed segments: which accounts occur in them."""

from django.db import transaction

from rewind.store import partition_cache, partitions, segments, writing
from rewind.store import slots as store

# An epoch of mainnet's is indexed for an hour or two. Other work must not wait for that long.
SLICES_AT_ONCE = 16


def index_next(slices: int = SLICES_AT_ONCE) -> int | None:
    """Some more of the lowest segment that slots hardly ever come to any more; its number once the
    last of it is done. It may be stopped anywhere, and run twice at once.
    """
    highest = _highest_sealed()
    if highest is None:
        return None
    if segments.progress().kept <= highest:
        with transaction.atomic():
            # Writers before this have committed, and their rows are indexed here; later writers
            # index their own rows.
            if not store.lock_window():
                return None
            segments.keep_below(highest + 1)
    for _ in range(slices):
        with transaction.atomic():
            writing.lift_timeouts()
            if not segments.claim_slice():
                return None
            done = segments.progress()
            segment = _lowest_with_slots(done)
            if segment is None:
                return None
            number = done.slices if segment == done.indexed else 0
            segments.index_slice(segment, number)
            segments.slice_done(segment, number + 1)
        if number + 1 == segments.SLICES:
            return segment
    return None


def _highest_sealed() -> int | None:
    """The highest segment that lies below the newest slot by a partition's length or more."""
    bounds = store.bounds()
    if bounds is None:
        return None
    highest = partition_cache.segment_of(bounds[1] + 1 - partitions.PARTITION_SLOTS) - 1
    return highest if highest >= 0 else None


def _lowest_with_slots(done: segments.Progress) -> int | None:
    numbers = {partition_cache.segment_of(partition.first) for partition in partitions.existing()}
    return min((each for each in numbers if done.indexed <= each < done.kept), default=None)
