"""Builds the index of finished segments: which accounts occur in them."""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from django.db import transaction

from columns.queries import lift_timeouts
from rewind.recording.store import partitions
from rewind.recording.store import slots as store
from rewind.sealed.packing.changes import Change
from rewind.sealed.store import change_source, sealing, segments
from rewind.sealed.store.change_source import Key

# An epoch of mainnet's is indexed for an hour or two. Other work must not wait for that long.
SLICES_AT_ONCE = 16
_ACCOUNTS_AT_ONCE = 10_000


def index_next(slices: int = SLICES_AT_ONCE) -> int | None:
    """Some more of the lowest segment that slots hardly ever come to any more; its number once the
    last of it is done. It may be stopped anywhere, and run twice at once.
    """
    highest = _highest_finished()
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
            lift_timeouts()
            if not segments.claim_slice():
                return None
            done = segments.progress()
            segment = _lowest_with_slots(done)
            if segment is None:
                return None
            number = done.slices if segment == done.indexed else 0
            segments.index_slice(segment, number)
            _index_sealed(segment, number)
            segments.slice_done(segment, number + 1)
        if number + 1 == segments.SLICES:
            return segment
    return None


def _index_sealed(segment: int, number: int) -> None:
    first = segment * partitions.SEGMENT_SLOTS
    last = first + partitions.SEGMENT_SLOTS - 1
    sealed = [
        each.id for each in sealing.active() if first <= each.first_slot and each.last_slot <= last
    ]
    low, high = segments.slice_bounds(number)
    accounts = _accounts(change_source.merged([], sealed, after=Key(low, -1, 0), below=high))
    while some := list(islice(accounts, _ACCOUNTS_AT_ONCE)):
        segments.keep_places(some)


def _accounts(changes: Iterable[Change]) -> Iterator[tuple[bytes, int, int]]:
    """(pubkey, its lowest slot, its highest): changes are in this order."""
    for pubkey, same in groupby(changes, key=lambda change: change.pubkey):
        slots = [change.slot for change in same]
        yield pubkey, slots[0], slots[-1]


def _highest_finished() -> int | None:
    """The highest segment that lies below the newest slot by a partition's length or more."""
    bounds = store.bounds()
    if bounds is None:
        return None
    highest = partitions.segment_of(bounds[1] + 1 - partitions.PARTITION_SLOTS) - 1
    return highest if highest >= 0 else None


def _lowest_with_slots(done: segments.Progress) -> int | None:
    numbers = {partitions.segment_of(partition.first) for partition in partitions.existing()}
    numbers |= {partitions.segment_of(each.first_slot) for each in sealing.active()}
    return min((each for each in numbers if done.indexed <= each < done.kept), default=None)
