"""Removes blocks from the ledger: wrong imports, and blocks below the retention window."""

from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction

from columns.queries import lift_timeouts
from historical.blocks.store import unsigned
from historical.ledger_generations import CHANGES, REMOVALS
from historical.recording.store import removal as store
from historical.recording.store import writing
from historical.recording.store.writing import counts_of
from historical.sealed.store import index_runs, sealing
from historical.transactions import segments
from historical.transactions.segments import SEGMENT_SLOTS, segment_of


@transaction.atomic
def remove_blocks(first: int, last: int) -> int:
    """The blocks of the slots, both ends inclusive, with all that leads to them; how many."""
    lift_timeouts()
    sealing.wait_alone()
    removed = store.delete_blocks(first, last)
    unsigned.delete(first, last)
    _remove_sealed(first, last)
    slots = {slot for slot, _ in removed}
    for segment in sorted({segment_of(slot) for slot in slots}):
        _remove_entries(segment, slots)
    counts_of(removed, count=-1).write()
    if removed:
        CHANGES.moves()
        REMOVALS.moves()
    return len(removed)


def _remove_sealed(first: int, last: int) -> None:
    ranges = store.delete_sealed(first, last)
    if not ranges:
        return
    # Their entries stay in the index until it is merged, and do not count.
    for run in index_runs.overlapping(first, last):
        index_runs.set_removed(run.id, _with(run.removed, first, last))
    store.drop_empty_ranges(sorted(ranges))
    sealing.moved()


def _with(ends: Sequence[int], first: int, last: int) -> list[int]:
    """First and last slots of ranges, with one more of them; those that touch are one."""
    joined: list[int] = []
    for low, high in sorted([*zip(ends[::2], ends[1::2], strict=True), (first, last)]):
        if joined and low <= joined[-1] + 1:
            joined[-1] = max(joined[-1], high)
        else:
            joined += (low, high)
    return joined


def _remove_entries(segment: int, removed: set[int]) -> None:
    kept: defaultdict[bytes, list[tuple[int, int]]] = defaultdict(list)
    begins = segment * SEGMENT_SLOTS
    for first_slot, address, packed in store.take_entries(begins, begins + SEGMENT_SLOTS):
        entries = segments.unpack_entries(first_slot, packed)
        kept[address] += [entry for entry in entries if entry[0] not in removed]
    rows = [
        writing.NewEntries(
            min(entries)[0], address, segments.pack_entries(min(entries)[0], sorted(entries))
        )
        for address, entries in sorted(kept.items())
        if entries
    ]
    writing.copy_entries(rows)
