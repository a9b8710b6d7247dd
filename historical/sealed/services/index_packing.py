"""Packs index entries of sealed blocks into new runs."""

from collections.abc import Sequence
from itertools import chain

from historical.recording.store import removal, writing
from historical.sealed.packed_index import AddressIndex, Index, packed_place, place_of
from historical.sealed.store import index_runs, sealing
from historical.sealed.store.index_runs import LIVE, RunRow
from historical.sealed.store.sealing import RangeRow
from historical.transactions.segments import SEGMENT_SLOTS, pack_entries, unpack_entries

# Of a step; a segment is never cut.
_MOST_TRANSACTIONS = 16_000


class IndexMismatch(Exception):
    """What was read back of the index is not what was written: the step was rolled back."""


def pack_addresses(ranges: Sequence[RangeRow]) -> str | None:
    """Moves the address entries of some segments whose blocks are sealed into a new run; what was
    done, None if there are none now. Raises IndexMismatch.
    """
    for sealed_range in ranges:
        segments = _ready(sealed_range)
        if segments:
            return _pack_segments(sealed_range, segments)
    return None


def _ready(sealed_range: RangeRow) -> list[int]:
    """Segments that get no more sealed blocks soon, as many as a step takes."""
    if not sealed_range.unindexed:
        return []
    first = sealed_range.unindexed[0] * SEGMENT_SLOTS
    last = sealed_range.unindexed[-1] * SEGMENT_SLOTS + SEGMENT_SLOTS - 1
    unsealed = sealing.segments_with_unsealed(first, last, but=sealed_range.unsealable)
    counts = sealing.sealed_transactions(first, last)
    chosen: list[int] = []
    transactions = 0
    for segment in sealed_range.unindexed:
        if segment in unsealed:
            continue
        transactions += counts.get(segment, 0)
        if chosen and transactions > _MOST_TRANSACTIONS:
            break
        chosen.append(segment)
    return chosen


def _pack_segments(sealed_range: RangeRow, segments: Sequence[int]) -> str:
    found: list[bytes] = []
    kept: list[writing.NewEntries] = []
    for segment in segments:
        begins = segment * SEGMENT_SLOTS
        sealed = sealing.sealed_slots(begins, begins + SEGMENT_SLOTS - 1)
        for first_slot, address, packed in removal.take_entries(begins, begins + SEGMENT_SLOTS):
            entries = unpack_entries(first_slot, packed)
            found += [address + packed_place(*each) for each in entries if each[0] in sealed]
            others = [each for each in entries if each[0] not in sealed]
            if others:
                row = writing.NewEntries(others[0][0], address, pack_entries(others[0][0], others))
                kept.append(row)
    writing.copy_entries(sorted(kept, key=lambda row: row.address))
    found.sort()
    add_run(sealed_range.id, AddressIndex, found)
    sealing.set_unindexed(sealed_range.id, set(sealed_range.unindexed) - set(segments))
    sealing.moved()
    return f"packed {len(found)} address entries of {len(segments)} segments"


def add_run(sealed_range: int, index: type[Index], entries: Sequence[bytes]) -> None:
    """A new run of the sorted entries. Raises IndexMismatch."""
    if not entries:
        return
    slots = [place_of(entry)[0] for entry in entries]
    run = RunRow(0, sealed_range, index.kind, 0, LIVE, min(slots), max(slots), entries=len(entries))
    write_blocks(index_runs.insert(run), index, entries)


def write_blocks(run: int, index: type[Index], entries: Sequence[bytes]) -> None:
    """Writes sorted entries as blocks of the run, and reads them back. Raises IndexMismatch."""
    if not entries:
        return
    index_runs.insert_blocks(run, index.pack(entries))
    stored = index_runs.blocks_between(run, entries[0], entries[-1])
    if list(chain.from_iterable(map(index.unpack, stored))) != list(entries):
        raise IndexMismatch(f"entries of run {run}")
