"""Reads sealed segments through for damage, block by block, and looks into what reads report.

Damage is noted, and repaired at once where what is here suffices (sealed/services/repairing.py).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rewind.sealed.models import SealedDamage, SealedSegment
from rewind.sealed.packing.block_codec import decode
from rewind.sealed.packing.changes import BlockDamaged
from rewind.sealed.store import block_bytes, damage
from rewind.sealed.store.change_source import BEFORE_ALL, Key
from rewind.sealed.store.damage import BlockRow
from sealed.life import Scrubbed

# Of a step: some tens of milliseconds.
_BLOCKS = 100
# Of a step that reads them from the object store, one in a run: 2.4 MB.
_COLD_BLOCKS = 500
# Where a block is damaged so many others are tried: if none can be read, the dictionary is damaged.
_OTHERS = 8


def read_next(before: datetime, now: datetime) -> Scrubbed[SealedDamage] | None:
    """The next blocks of segments that were sealed, and read through last, before that moment.
    Raises ArchiveStoreUnavailable.
    """
    segment = damage.next_to_scrub(before)
    if segment is None:
        damage.end_of_unread(now)
        return None
    return _scrub_some(segment, now)


def scrub_segment(number: int, *, now: datetime) -> list[SealedDamage]:
    """Reads all of the segment's blocks at once; the damage that was not known before."""
    found: list[SealedDamage] = []
    segment = damage.active_segment(number)
    if segment is None:
        return found
    key, changes = BEFORE_ALL, 0
    while rows := damage.blocks_after(number, key, _BLOCKS):
        found += _check(segment, rows, "scrub", now)
        key, changes = rows[-1].key, changes + sum(row.changes for row in rows)
    segment = damage.active_segment(number)
    return found if segment is None else found + _count(segment, changes, now)


def look_into(report: str, now: datetime) -> list[SealedDamage]:
    """Reads a block that a read met damage in: its segment and number."""
    number, block = map(int, report.split(":"))
    segment, row = damage.active_segment(number), damage.block(block)
    if segment is None or row is None or row.segment != number:
        return []
    return _check(segment, [row], "read", now)


def _scrub_some(segment: SealedSegment, now: datetime) -> Scrubbed[SealedDamage]:
    key, changes = damage.scrubbed_to(segment.pk)
    rows = damage.blocks_after(segment.pk, key, _BLOCKS)
    is_cold = any(row.is_cold for row in rows)
    if is_cold:
        rows = damage.blocks_after(segment.pk, key, _COLD_BLOCKS)
    done = Scrubbed(len(rows), _check(segment, rows, "scrub", now), is_cold)
    changes += sum(row.changes for row in rows)
    if rows and not damage.is_damaged_as_a_whole(segment.pk):
        damage.advance_scrub(segment.pk, rows[-1].key, changes)
        return done
    if not rows:
        done.found += _count(segment, changes, now)
    damage.finish_scrub(segment.pk, now)
    return done


def _count(segment: SealedSegment, changes: int, now: datetime) -> list[SealedDamage]:
    if changes == segment.changes or damage.is_damaged_as_a_whole(segment.pk):
        return []
    reason = f"its blocks have {changes} changes, not {segment.changes}"
    found = damage.note(segment, None, reason, found_by="scrub", now=now)
    return [] if found is None else [found]


def _check(
    segment: SealedSegment, rows: Sequence[BlockRow], found_by: str, now: datetime
) -> list[SealedDamage]:
    """Notes which of the blocks, neighbours in their order, are damaged."""
    found: list[SealedDamage] = []
    for row, fault in _faults(segment, rows):
        if damage.is_damaged_as_a_whole(segment.pk):
            break
        place = block_bytes.place_of(segment, row)
        if row.packed is not None and _is_the_dictionary(segment, row):
            reason = f"its dictionary is damaged: no block can be read ({fault})"
            noted = damage.note(segment, None, reason, found_by=found_by, now=now)
        else:
            noted = damage.note(segment, row, fault, found_by=found_by, now=now, place=place)
        if noted is not None:
            found.append(noted)
    return found


def _faults(segment: SealedSegment, rows: Sequence[BlockRow]) -> Iterator[tuple[BlockRow, str]]:
    for number, (row, missing) in enumerate(block_bytes.loaded(rows)):
        following = rows[number + 1].key if number + 1 < len(rows) else damage.next_key(row)
        fault = missing or fault_of(row, dictionary_of(segment), following)
        if fault:
            yield row, fault


def _is_the_dictionary(segment: SealedSegment, row: BlockRow) -> bool:
    """Whether no block of several can be read."""
    others = damage.blocks_after(segment.pk, row.key, _OTHERS)
    if len(others) < _OTHERS:
        others += damage.blocks_after(segment.pk, BEFORE_ALL, _OTHERS)
    dictionary = dictionary_of(segment)
    there = block_bytes.loaded([other for other in others if other.id != row.id])
    faults = [missing or fault_of(other, dictionary, None) for other, missing in there]
    return bool(faults) and all(faults)


def dictionary_of(segment: SealedSegment) -> bytes | None:
    return None if segment.dictionary is None else bytes(segment.dictionary)


def fault_of(row: BlockRow, dictionary: bytes | None, following: Key | None) -> str:
    """Why the block is not what was sealed between its key and the next block's; empty where it
    is.
    """
    if row.packed is None:
        return "it has no bytes"
    try:
        body = decode(row.packed, dictionary)
        if body.changes != row.changes:
            return f"it has {body.changes} changes, its row says {row.changes}"
        before: tuple[bytes, int, int] | None = None
        for change in body.all():
            key = change[:3]
            if before is None:
                if key != tuple(row.key):
                    return "it begins with another change than its row says"
            elif key <= before:
                return "its changes are not in order"
            before = key
        if before is None or (following is not None and before >= following):
            return "its changes belong behind the next block's"
        if {row.pubkey[0], before[0][0]} != {row.bucket}:
            return "its accounts are not those of its bucket"
    except BlockDamaged as fault:
        return str(fault)
    return ""
