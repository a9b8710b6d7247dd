"""Repairs damaged sealed blocks from another copy: nothing is stored that its checksum and its
content do not prove, and nothing is committed before it was read back.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import takewhile

from django.db import transaction

from columns.other_database import OtherDatabase
from columns.queries import lift_timeouts
from rewind.errors import ArchiveDamaged
from rewind.recording.store import partitions
from rewind.sealed.models import SealedDamage, SealedSegment
from rewind.sealed.packing.bit_repair import with_bit_restored
from rewind.sealed.packing.block_codec import encode
from rewind.sealed.services import scrubbing
from rewind.sealed.services.scrubbing import dictionary_of, fault_of
from rewind.sealed.store import (
    block_bytes,
    change_source,
    damage,
    damage_copies,
)
from rewind.sealed.store.change_source import BEFORE_ALL, Key
from rewind.sealed.store.damage import BlockRow
from rewind.sealed.store.damage_copies import CopiedBlock
from sealed.life import NotReadBack

_REPAIRED, _GONE = SealedDamage.State.REPAIRED, SealedDamage.State.GONE
# One block with all the changes, however large.
_ONE_BLOCK = 1 << 60
# Blocks that a dictionary is tried on.
_TRIED = 64


def repair_from_here(found: SealedDamage, *, now: datetime) -> str:
    """Repairs a block from what this database has: its own bytes where a single bit flipped, or the
    segments that it was merged of; a dictionary from the segment's objects in the store. From what
    it was repaired; empty where that is impossible. Raises ArchiveStoreUnavailable.
    """
    segment, row = damage.active_segment(found.segment), damage.block(found.block)
    if segment is None or (found.block and row is None):
        damage.DAMAGES.end(found, _GONE, "it is not read any more", now)
        return ""
    if row is None:
        dictionaries = block_bytes.dictionaries_of_objects(segment)
        return _repair_segment(found, segment, dictionaries, (), "its objects", now)
    (row, missing), *_ = block_bytes.loaded([row])
    if missing:
        return ""
    if not fault_of(row, dictionary_of(segment), damage.next_key(row)):
        source = "itself: it is read as it was sealed"
        damage.DAMAGES.end(found, _REPAIRED, source, now)
        return source
    return _repair(found, _candidates(segment, row), now)


def repair_from(found: SealedDamage, copy: OtherDatabase, *, now: datetime) -> str:
    """Repairs a block, or a segment's dictionary and missing blocks, from another database that has
    the same segment; empty where it has no whole copy.
    """
    segment = damage.active_segment(found.segment)
    if segment is None:
        damage.DAMAGES.end(found, _GONE, "it is not read any more", now)
        return ""
    if not found.block:
        slots = segment.first_slot, segment.last_slot
        dictionaries = damage_copies.dictionaries(copy, *slots)
        blocks = damage_copies.segment_blocks(copy, *slots)
        return _repair_segment(found, segment, dictionaries, blocks, copy.name, now)
    row = damage.block(found.block)
    if row is None:
        return ""
    copies = damage_copies.blocks(copy, segment.first_slot, segment.last_slot, row.key)
    return _repair(found, ((each, copy.name) for each in copies), now)


def _candidates(segment: SealedSegment, row: BlockRow) -> Iterable[tuple[bytes, str]]:
    if row.packed is None:
        return
    dictionary = dictionary_of(segment)
    restored = with_bit_restored(row.packed, dictionary)
    if restored is not None:
        yield restored, "its checksum: one bit had flipped"
    merged = _merged_again(segment, row, dictionary)
    if merged is not None:
        yield merged, "the segments that it was merged of"


def _merged_again(segment: SealedSegment, row: BlockRow, dictionary: bytes | None) -> bytes | None:
    """The block made again of the segments that its own was merged of, while they are here."""
    if not segment.segments or row.packed is None:
        return None
    following = damage.next_key(row)
    before = Key(row.pubkey, row.slot, row.position - 1)
    source = change_source.merged([], segment.segments, after=before)
    try:
        changes = list(takewhile(lambda each: following is None or each[:3] < following, source))
    except ArchiveDamaged:
        return None
    if len(changes) != row.changes:
        return None
    blocks = list(encode(changes, dictionary, target=_ONE_BLOCK))
    if len(blocks) != 1:
        return None
    body = blocks[0].body
    # Late rows that were merged with them may have said otherwise.
    is_proved = not segment.tables or body[:8] == row.packed[:8]
    return body if is_proved else None


@transaction.atomic
def _repair(found: SealedDamage, copies: Iterable[tuple[bytes, str]], now: datetime) -> str:
    """The first of the copies that is whole is stored and read back. Raises NotReadBack."""
    lift_timeouts()
    segment = damage.lock_segment(found.segment)
    row = damage.block(found.block)
    if segment is None or row is None:
        return ""
    dictionary, following = dictionary_of(segment), damage.next_key(row)
    for packed, source in copies:
        if fault_of(row._replace(packed=packed), dictionary, following):
            continue
        if damage.replace_block(row.id, packed) != packed:
            raise NotReadBack(f"block {row.id} of segment {segment.pk}")
        damage.DAMAGES.end(found, _REPAIRED, source, now)
        return source
    return ""


def _repair_segment(
    found: SealedDamage,
    segment: SealedSegment,
    dictionaries: Iterable[bytes | None],
    blocks: Iterable[CopiedBlock],
    source: str,
    now: datetime,
) -> str:
    """The segment's dictionary is one that its blocks can be read with, and blocks that are missing
    are there again.
    """
    with transaction.atomic():
        lift_timeouts()
        locked = damage.lock_segment(segment.pk)
        if locked is None:
            return ""
        first = damage.blocks_after(segment.pk, BEFORE_ALL, _TRIED)
        sample = [row for row, missing in block_bytes.loaded(first) if not missing]
        own = dictionary_of(locked)
        for dictionary in (own, *dictionaries):
            if sample and all(fault_of(row, dictionary, None) for row in sample):
                continue
            if dictionary != own:
                damage.replace_dictionary(segment.pk, dictionary)
            there = set(damage.keys_of(segment.pk))
            missing = (each for each in blocks if each.key not in there)
            damage.scrub_again(segment.pk)
            damage.insert_blocks(segment.pk, filter(_is_whole_with(dictionary), missing))
            damage.DAMAGES.end(found, _REPAIRED, source, now)
            partitions.note_layout()
            break
        else:
            return ""
    scrubbing.scrub_segment(segment.pk, now=now)
    return "" if damage.is_damaged_as_a_whole(segment.pk) else source


def _is_whole_with(dictionary: bytes | None) -> Callable[[CopiedBlock], bool]:
    def is_whole(each: CopiedBlock) -> bool:
        row = BlockRow(0, 0, each.changes, *each.key, each.key.pubkey[0], False, each.packed)
        return not fault_of(row, dictionary, None)

    return is_whole
