"""Sealed segments on their way to the object store: which blocks, and the moment in which readers
change over.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db.models import F
from psycopg import OperationalError

from columns.advisory_locks import AdvisoryLock, HeldLock
from columns.clusters import is_clustered
from columns.queries import execute
from columns.raw_queries import fetch_all, fetch_one
from rewind.sealed.models import SealedBlock, SealedSegment
from rewind.sealed.packing.object_format import Packed

# Blocks that are read at once: about 5 kB each, 40 MB at worst but for single large accounts.
_AT_ONCE = 500
State = SealedSegment.State

_BLOCKS = (
    "SELECT id, pubkey, slot, position, changes, block, at, size FROM rewind_sealedblock"
    " WHERE segment_id = $1 AND (pubkey, slot, position) > ($2, $3, $4)"
    f" ORDER BY pubkey, slot, position LIMIT {_AT_ONCE}"
)


class Row(NamedTuple):
    """A block as the database has it: with its bytes, or with its place in the store."""

    id: int
    pubkey: bytes
    slot: int
    position: int
    changes: int
    block: bytes | None
    at: int | None
    size: int | None

    @property
    def packed(self) -> Packed:
        assert self.block is not None
        return Packed(self.pubkey, self.slot, self.position, self.changes, self.block)


@contextmanager
def alone() -> Iterator[bool]:
    """Whether no other worker moves anything until the end."""
    lock = HeldLock(AdvisoryLock.MOVING_SEGMENTS, 0)
    try:
        taken = lock.take()
    except OperationalError:
        lock.release()
        raise
    try:
        yield taken
    finally:
        lock.release()


def segment(number: int) -> SealedSegment | None:
    return SealedSegment.objects.filter(pk=number).first()


def moved() -> set[int]:
    """The segments that lie in the store as a whole."""
    return set(SealedSegment.objects.filter(cold_at__isnull=False).values_list("id", flat=True))


def name(moving: SealedSegment) -> str:
    """Where the segment's objects lie: no other segment's do, in this database or another."""
    if not moving.cold_name:
        slots = f"{moving.first_slot:012d}-{moving.last_slot:012d}"
        wanted = f"accounts/{slots}-{moving.pk}-{secrets.token_hex(8)}"
        SealedSegment.objects.filter(pk=moving.pk, cold_name="").update(cold_name=wanted)
        moving.refresh_from_db(fields=["cold_name"])
    return moving.cold_name


def next_bucket(moving: SealedSegment) -> int | None:
    """The first byte of pubkeys whose blocks move next; None when all have."""
    if moving.cold_buckets > 255:
        return None
    found = fetch_one(
        "SELECT bucket FROM rewind_sealedblock WHERE segment_id = $1 AND pubkey >= $2"
        " ORDER BY pubkey, slot, position LIMIT 1",
        moving.pk,
        bytes([moving.cold_buckets]),
    )
    return None if found is None else int(found[0])


def moved_buckets(moving: SealedSegment) -> list[int]:
    """The first bytes of pubkeys whose blocks lie in the store."""
    found = SealedBlock.objects.filter(segment=moving, bucket__lt=moving.cold_buckets)
    return list(found.order_by("bucket").values_list("bucket", flat=True).distinct())


def blocks(number: int, bucket: int) -> Iterator[Row]:
    """The segment's blocks of one first byte of pubkeys, in order, some read at once."""
    after: tuple[bytes, int, int] = (bytes([bucket]), -1, 0)
    while rows := fetch_all(_BLOCKS, number, *after):
        for each in map(Row._make, rows):
            if each.pubkey[0] != bucket:
                return
            yield each
        after = rows[-1][1:4]


def change_over(
    moving: SealedSegment, bucket: int, places: Sequence[tuple[int, int]], size: int
) -> bool:
    """From the transaction's end on readers read these blocks, each with the place where it
    begins, from their object of that size. False when the segment was merged or left the window
    meanwhile, and nothing has changed.
    """
    active = SealedSegment.objects.select_for_update().filter(pk=moving.pk, state=State.ACTIVE)
    if not active.filter(cold_name=moving.cold_name, cold_buckets__lte=bucket).exists():
        return False
    moved = _move_places(moving, bucket, places)
    if moved != len(places):
        raise RuntimeError(f"{moved} of {len(places)} blocks are as they were")
    active.update(cold_buckets=bucket + 1, cold_bytes=F("cold_bytes") + size)
    return True


def _move_places(moving: SealedSegment, bucket: int, places: Sequence[tuple[int, int]]) -> int:
    """How many blocks lie there now."""
    if not is_clustered():
        return execute(
            "UPDATE rewind_sealedblock AS b SET at = p.at, size = octet_length(b.block),"
            " block = NULL FROM unnest(%s::bigint[], %s::bigint[]) AS p (id, at)"
            " WHERE b.id = p.id AND b.segment_id = %s AND b.block IS NOT NULL",
            [[each for each, _ in places], [at for _, at in places], moving.pk],
        )
    moved = 0
    for number, at in places:
        # One by one: Citus takes no join with unnest here, and fails on arrays in its place.
        moved += execute(
            "UPDATE rewind_sealedblock SET at = %s, size = octet_length(block), block = NULL"
            " WHERE bucket = %s AND id = %s AND segment_id = %s AND block IS NOT NULL",
            [at, bucket, number, moving.pk],
        )
    return moved


def finish(moving: SealedSegment, now: Any) -> None:
    """All of the segment's blocks lie in the store."""
    # Blocks of what moved that are here were repaired since.
    left = SealedBlock.objects.filter(segment=moving, block__isnull=False)
    left = left.filter(bucket__gte=moving.cold_buckets)
    if left.exists():
        raise RuntimeError(f"segment {moving.pk} has blocks that did not move")
    SealedSegment.objects.filter(pk=moving.pk, state=State.ACTIVE).update(cold_at=now)


def next_forgotten(before: Any) -> SealedSegment | None:
    """A segment that no one reads since that moment or longer, and that has objects."""
    gone = SealedSegment.objects.filter(state=State.RETIRED, retired_at__lte=before)
    return gone.exclude(cold_name="").order_by("id").first()


def forget_objects(gone: SealedSegment) -> None:
    """Its objects are deleted: now its rows can go."""
    SealedSegment.objects.filter(pk=gone.pk).update(cold_name="")


def with_objects() -> list[SealedSegment]:
    """The segments that have objects, lowest slots first."""
    found = SealedSegment.objects.exclude(cold_name="")
    return list(found.order_by("first_slot", "id"))
