"""Makes damaged blocks of a run of the index again, of the sealed blocks that it is about."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from chain.encodings import b58decode
from chain.transaction_json import all_keys
from columns.queries import lift_timeouts
from historical.blocks.services.stored_content import Unreadable, transactions_of
from historical.errors import SealedDataDamaged
from historical.models import LedgerDamage
from historical.sealed.packed_index import INDEXES, SignatureIndex, packed_place, signature_key
from historical.sealed.services import scrubbing
from historical.sealed.services.index_packing import IndexMismatch, write_blocks
from historical.sealed.store import (
    damage,
    index_runs,
    sealed_blocks,
    sealing,
)
from historical.sealed.store.damage import IndexBlockRow
from historical.sealed.store.index_runs import LIVE, RunRow
from historical.transactions.segments import digest, segment_of

# What it is made of.
SOURCE = "the sealed blocks that it is about"
# Sealed blocks that are read at once.
_BLOCKS = 64
# Keys from the first on and below the second; None: to the end.
_Range = tuple[bytes, bytes | None]


@transaction.atomic
def rebuild(found: LedgerDamage, *, now: datetime, most_blocks: int | None = None) -> bool:
    """Whether the run's damaged blocks are made again: only if the entries are as many as the run
    says, or all are known to be found. It reads all sealed blocks of the run's slots; where these
    are more than `most_blocks`, nothing. Raises IndexMismatch.
    """
    lift_timeouts()
    sealing.wait_alone()
    run = next((each for each in index_runs.runs() if each.id == found.number), None)
    if run is None or run.state != LIVE:
        return False
    slots = damage.blocks_of(found.kind, found.number, run.first_slot, run.last_slot)
    if most_blocks is not None and len(slots) > most_blocks:
        return False
    rows = damage.run_blocks(run.id)
    spoiled = [number for number, row in enumerate(rows) if scrubbing.index_fault(row)]
    lost = [_range_of(rows, number) for number in spoiled]
    kept = sum(len(_entries(row)) for number, row in enumerate(rows) if number not in set(spoiled))
    try:
        entries = sorted(set(_expected(run, slots, lost)) - _elsewhere(run, lost))
    except (SealedDataDamaged, Unreadable):
        return False
    is_proved = kept + len(entries) == run.entries
    if not is_proved and not (run.removed and run.kind == SignatureIndex.kind):
        return False
    for number, bounds in zip(spoiled, lost, strict=True):
        damage.delete_index(rows[number])
        write_blocks(run.id, INDEXES[run.kind], [each for each in entries if _is_in(each, bounds)])
    if scrubbing.faults_of(found.kind, found.number):
        raise IndexMismatch(f"run {run.id}")
    damage.count_entries(run.id, kept + len(entries))
    sealing.moved()
    damage.DAMAGES.end(found, LedgerDamage.State.REPAIRED, SOURCE, now)
    return True


def _range_of(rows: Sequence[IndexBlockRow], number: int) -> _Range:
    end = rows[number + 1].first_entry if number + 1 < len(rows) else None
    return rows[number].first_entry, end


def _is_in(entry: bytes, bounds: _Range) -> bool:
    return bounds[0] <= entry and (bounds[1] is None or entry < bounds[1])


def _entries(row: IndexBlockRow) -> list[bytes]:
    return INDEXES[row.kind].unpack(row.block)


def _elsewhere(run: RunRow, lost: Sequence[_Range]) -> set[bytes]:
    """Such entries that stand in other runs."""
    found: set[bytes] = set()
    for other in index_runs.overlapping(run.first_slot, run.last_slot):
        if other.id != run.id and other.kind == run.kind and other.state == LIVE:
            for row in damage.run_blocks(other.id):
                if not scrubbing.index_fault(row):
                    found |= {
                        each for each in _entries(row) if any(_is_in(each, to) for to in lost)
                    }
    return found


def _expected(run: RunRow, slots: Sequence[int], lost: Sequence[_Range]) -> Iterator[bytes]:
    """The entries of the run's sealed blocks with these keys."""
    unpacked = {
        segment
        for each in sealing.ranges()
        if each.id == run.sealed_range and run.kind != SignatureIndex.kind
        for segment in each.unindexed
    }
    for start in range(0, len(slots), _BLOCKS):
        for block in sealed_blocks.sealed_blocks(slots[start : start + _BLOCKS]):
            if block.sealed_range != run.sealed_range or segment_of(block.slot) in unpacked:
                continue
            if run.kind == SignatureIndex.kind:
                keys = [[signature_key(e.signature)] for e in sealed_blocks.entries_of(block)]
            else:
                keys = [_digests(each) for each in transactions_of(block.slot)]
            for position, of_one in enumerate(keys):
                place = packed_place(block.slot, position)
                for key in of_one:
                    if run.counts(block.slot) and any(_is_in(key + place, to) for to in lost):
                        yield key + place


def _digests(entry: dict[str, Any]) -> list[bytes]:
    """Of each address that the transaction loads."""
    return [digest(b58decode(each)) for each in dict.fromkeys(all_keys(entry))]
