"""Damaged sealed blocks, and how far segments were read through for damage."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Sum
from solders.pubkey import Pubkey

from columns.advisory_locks import AdvisoryLock, wait_for
from columns.queries import execute, first_row
from columns.raw_queries import fetch_all, fetch_one
from rewind.sealed.models import SealedBlock, SealedDamage, SealedSegment, SegmentScrub
from rewind.sealed.store.change_source import BEFORE_ALL, Key
from rewind.sealed.store.damage_copies import CopiedBlock
from sealed.damage import Damages

# The lowest slots first; segments as a whole before their blocks.
DAMAGES = Damages(SealedDamage, ("first_slot", "segment", "block"))


class BlockRow(NamedTuple):
    """A sealed block as the database has it."""

    id: int
    segment: int
    changes: int
    pubkey: bytes
    slot: int
    position: int
    bucket: int
    is_cold: bool
    packed: bytes | None

    @property
    def key(self) -> Key:
        return Key(self.pubkey, self.slot, self.position)


_COLUMNS = "id, segment_id, changes, pubkey, slot, position, bucket, at IS NOT NULL, block"
_AFTER = (
    f"SELECT {_COLUMNS} FROM rewind_sealedblock WHERE segment_id = $1"
    " AND (pubkey, slot, position) > ($2, $3, $4) ORDER BY pubkey, slot, position LIMIT $5"
)
_BEFORE = (
    f"SELECT {_COLUMNS} FROM rewind_sealedblock WHERE segment_id = $1"
    " AND (pubkey, slot, position) < ($2, $3, $4)"
    " ORDER BY pubkey DESC, slot DESC, position DESC LIMIT 1"
)


def wait_for_scrub() -> None:
    """No worker scrubs until the transaction ends."""
    wait_for(AdvisoryLock.ARCHIVE_SCRUBBING)


def blocks_after(segment: int, key: Key, limit: int) -> list[BlockRow]:
    """The segment's next blocks behind the one that begins with the key, in order."""
    return [BlockRow(*row) for row in fetch_all(_AFTER, segment, *key, limit)]


def block_before(segment: int, key: Key) -> BlockRow | None:
    row = fetch_one(_BEFORE, segment, *key)
    return None if row is None else BlockRow(*row)


def block(number: int) -> BlockRow | None:
    row = fetch_one(f"SELECT {_COLUMNS} FROM rewind_sealedblock WHERE id = $1", number)
    return None if row is None else BlockRow(*row)


def next_key(of: BlockRow) -> Key | None:
    """Where the next block begins; None behind the last one."""
    rows = blocks_after(of.segment, of.key, 1)
    return rows[0].key if rows else None


def active_segment(number: int) -> SealedSegment | None:
    """The segment if readers read it."""
    return SealedSegment.objects.filter(pk=number, state=SealedSegment.State.ACTIVE).first()


def lock_segment(number: int) -> SealedSegment | None:
    """The same, as it is until the transaction ends."""
    found = SealedSegment.objects.select_for_update()
    return found.filter(pk=number, state=SealedSegment.State.ACTIVE).first()


def damaged_segments() -> set[int]:
    """Segments with damage that is not repaired."""
    return set(DAMAGES.open().values_list("segment", flat=True))


def lowest_slot() -> int | None:
    """Where the lowest segment with damage begins; None where there is none."""
    found = SealedSegment.objects.filter(
        pk__in=damaged_segments(), state=SealedSegment.State.ACTIVE
    )
    return found.order_by("first_slot").values_list("first_slot", flat=True).first()


def damaged_blocks(segment: int) -> frozenset[int]:
    found = DAMAGES.open().filter(segment=segment, block__gt=0)
    return frozenset(found.values_list("block", flat=True))


def is_damaged_as_a_whole(segment: int) -> bool:
    return DAMAGES.open().filter(segment=segment, block=0).exists()


@transaction.atomic
def note(
    segment: SealedSegment,
    row: BlockRow | None,
    reason: str,
    *,
    found_by: str,
    now: Any,
    place: str = "database",
) -> SealedDamage | None:
    """Keeps that the block, or the segment as a whole, is damaged; None where that is known."""
    following = None if row is None else next_key(row)
    return DAMAGES.note(
        {"segment": segment.pk, "block": 0 if row is None else row.id},
        first_slot=segment.first_slot,
        last_slot=segment.last_slot,
        pubkey=None if row is None else row.pubkey,
        last_pubkey=None if following is None else following.pubkey,
        changes=segment.changes if row is None else row.changes,
        place=place,
        reason=reason,
        found_by=found_by,
        now=now,
    )


def end_of_unread(now: Any) -> int:
    """Damage of segments that were merged or left the window is of no one's concern."""
    ended = execute(
        "UPDATE rewind_sealeddamage AS d SET state = %s, ended_at = %s, ended_by = 'the segment"
        " is not read any more' WHERE state = %s AND NOT EXISTS (SELECT FROM"
        " rewind_sealedsegment AS s WHERE s.id = d.segment AND s.state = %s)",
        [SealedDamage.State.GONE, now, SealedDamage.State.DAMAGED, SealedSegment.State.ACTIVE],
    )
    execute(
        "DELETE FROM rewind_segmentscrub AS c WHERE NOT EXISTS (SELECT FROM"
        " rewind_sealedsegment AS s WHERE s.id = c.segment)"
    )
    return ended


def next_to_scrub(before: Any) -> SealedSegment | None:
    """The segment that is being read through; else the one that was not for longest, if it was
    sealed and last read through before that moment.
    """
    row = first_row(
        "SELECT s.id FROM rewind_sealedsegment AS s"
        " LEFT JOIN rewind_segmentscrub AS c ON c.segment = s.id"
        " WHERE s.state = %s AND (c.pubkey IS NOT NULL OR coalesce(c.checked_at, s.sealed_at)"
        " < %s) ORDER BY c.pubkey IS NULL, coalesce(c.checked_at, s.sealed_at), s.id LIMIT 1",
        [SealedSegment.State.ACTIVE, before],
    )
    return None if row is None else active_segment(row[0])


def scrubbed_to(segment: int) -> tuple[Key, int]:
    """Where the last block that was read begins, and the changes of those read so far."""
    found = SegmentScrub.objects.filter(pk=segment).first()
    if found is None or found.pubkey is None:
        return BEFORE_ALL, 0
    return Key(bytes(found.pubkey), found.slot, found.position), found.changes


def advance_scrub(segment: int, key: Key, changes: int) -> None:
    SegmentScrub.objects.update_or_create(
        segment=segment,
        defaults={
            "pubkey": key.pubkey,
            "slot": key.slot,
            "position": key.position,
            "changes": changes,
        },
    )


def finish_scrub(segment: int, now: Any) -> None:
    """The segment was read through."""
    SegmentScrub.objects.update_or_create(
        segment=segment,
        defaults={"pubkey": None, "slot": 0, "position": 0, "changes": 0, "checked_at": now},
    )


def scrub_again(segment: int) -> None:
    """What was read of the segment does not count: it has changed."""
    SegmentScrub.objects.filter(segment=segment).update(pubkey=None, changes=0)


def replace_block(number: int, packed: bytes) -> bytes | None:
    """The block has these bytes, in the database; as they are read back."""
    execute(
        "UPDATE rewind_sealedblock SET block = %s, at = NULL, size = NULL WHERE id = %s",
        [packed, number],
    )
    row = block(number)
    return None if row is None else row.packed


def keys_of(segment: int) -> Iterator[Key]:
    """Where the segment's blocks begin."""
    found = SealedBlock.objects.filter(segment=segment)
    for pubkey, slot, position in found.values_list("pubkey", "slot", "position").iterator():
        yield Key(bytes(pubkey), slot, position)


def insert_blocks(segment: int, blocks: Iterable[CopiedBlock]) -> None:
    """Blocks that the segment lost are there again."""
    rows = (
        SealedBlock(
            segment_id=segment,
            changes=each.changes,
            slot=each.key.slot,
            position=each.key.position,
            bucket=each.key.pubkey[0],
            pubkey=Pubkey(each.key.pubkey),
            block=each.packed,
        )
        for each in blocks
    )
    while some := list(islice(rows, 500)):
        SealedBlock.objects.bulk_create(some)


def replace_dictionary(segment: int, dictionary: bytes | None) -> None:
    SealedSegment.objects.filter(pk=segment).update(dictionary=dictionary)


def changes_of(segment: int) -> int:
    """How many changes the segment's blocks have."""
    found = SealedBlock.objects.filter(segment=segment).aggregate(changes=Sum("changes"))
    return int(found["changes"] or 0)


def delete_blocks(segment: SealedSegment, rows: Sequence[BlockRow]) -> None:
    """The blocks leave the segment, which counts what is left."""
    SealedBlock.objects.filter(pk__in=[row.id for row in rows]).delete()
    size = sum(len(row.packed or b"") for row in rows)
    SealedSegment.objects.filter(pk=segment.pk).update(
        changes=changes_of(segment.pk),
        blocks=SealedBlock.objects.filter(segment=segment).count(),
        stored_bytes=max(segment.stored_bytes - size, 0),
    )
