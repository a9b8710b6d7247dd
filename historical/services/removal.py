"""Removes blocks from the ledger: wrong imports, and blocks below the retention window."""

from collections import defaultdict

from django.db import transaction

from historical import segments
from historical.ledger_generations import CHANGES, REMOVALS
from historical.segments import SEGMENT_SLOTS, segment_of
from historical.store import removal as store
from historical.store import writing
from historical.store.block_counts import counts_of


@transaction.atomic
def remove_blocks(first: int, last: int) -> int:
    """The blocks of the slots, both ends inclusive, with all that leads to them; how many."""
    writing.lift_timeouts()
    removed = store.delete_blocks(first, last)
    slots = {slot for slot, _ in removed}
    for segment in sorted({segment_of(slot) for slot in slots}):
        _remove_entries(segment, slots)
    counts_of(removed, count=-1).write()
    if removed:
        CHANGES.moves()
        REMOVALS.moves()
    return len(removed)


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
