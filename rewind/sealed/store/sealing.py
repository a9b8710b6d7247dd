"""What is sealed, what is being sealed, and the moment in which readers change over."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db import OperationalError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from psycopg.errors import LockNotAvailable
from solders.sysvar import RENT

from columns.advisory_locks import AdvisoryLock, try_for, wait_for
from columns.clusters import is_clustered
from columns.queries import execute, lift_timeouts
from columns.raw_queries import fetch_all
from rewind.recording.store import partitions, slots, writing
from rewind.recording.store.partitions import Partition
from rewind.sealed.models import SealedSegment
from rewind.sealed.packing.changes import Block
from rewind.sealed.store import late_rows
from rewind.sealed.store.change_source import Key

_BLOCK_COLUMNS = "segment_id, changes, slot, position, bucket, pubkey, block"
_DELETED_AT_ONCE = 2_000
# A row of it in slot 0 says that the accounts of genesis are here: nothing writes it later in the
# slot.
GENESIS_PUBKEY = bytes(RENT)
State = SealedSegment.State


class Piece(NamedTuple):
    """A sealed segment as far as a plan needs it."""

    id: int
    first_slot: int
    last_slot: int
    stored_bytes: int


def claim() -> bool:
    """Locks sealing until the transaction ends; False when another worker has the lock."""
    return try_for(AdvisoryLock.ARCHIVE_SEALING)


def wait() -> None:
    """The same, when the other worker has ended its transaction."""
    wait_for(AdvisoryLock.ARCHIVE_SEALING)


def active() -> list[Piece]:
    """The segments that readers read, lowest first."""
    found = SealedSegment.objects.filter(state=State.ACTIVE).order_by("first_slot")
    fields = found.values_list("id", "first_slot", "last_slot", "stored_bytes")
    return [Piece(*each) for each in fields]


def building() -> SealedSegment | None:
    return SealedSegment.objects.filter(state=State.BUILDING).first()


def begin(
    first_slot: int,
    last_slot: int,
    replaced: Sequence[Partition],
    segments: Sequence[int],
    now: Any,
) -> SealedSegment | None:
    """A segment to be built of these partitions and segments. What is written to the partitions
    from now on is noted. None when a writer is at one of them for too long.
    """
    try:
        with transaction.atomic():
            # Writers of a cluster note what they write if they find the segment: none is at work
            # that has looked already.
            if is_clustered() and not slots.lock_window():
                return None
            execute("SET LOCAL lock_timeout = 300")
            late_rows.watch(each.table for each in replaced)
            return SealedSegment.objects.create(
                first_slot=first_slot,
                last_slot=last_slot,
                tables=[each.table for each in replaced],
                segments=list(segments),
                started_at=now,
                replaced_bytes=sum(map(partitions.size_of, replaced)),
            )
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return None
        raise


def sources_are_there(segment: SealedSegment) -> bool:
    """False when retention took one of them meanwhile."""
    tables = {each.table for each in partitions.existing()}
    there = {each.id for each in active()}
    return tables.issuperset(segment.tables) and there.issuperset(segment.segments)


def abandon(segment: SealedSegment) -> None:
    """What was built is deleted, and its partitions are as they were before."""
    tables = {each.table for each in partitions.existing()}
    late_rows.unwatch(tables.intersection(segment.tables))
    late_rows.forget(segment.first_slot, segment.last_slot)
    SealedSegment.objects.filter(pk=segment.pk).update(state=State.RETIRED, retired_at=None)


def insert_blocks(segment: int, blocks: Sequence[Block]) -> None:
    if blocks:
        writing.copy_rows("rewind_sealedblock", _BLOCK_COLUMNS, _rows(segment, blocks))


def _rows(segment: int, blocks: Sequence[Block]) -> Iterator[tuple[bytes, bytes]]:
    pack = writing.BLOCK_ROW.pack
    for each in blocks:
        head = pack(
            7, 8, segment, 4, each.changes, 8, each.slot, 4, each.position,
            2, each.pubkey[0], 32, each.pubkey, len(each.body),
        )  # fmt: skip
        yield head, each.body


def blocks_after(segment: int, key: Key) -> list[tuple[int, int, bytes]]:
    """(number, changes, block) of the segment's blocks that begin after the key, in order."""
    return [
        (number, changes, packed)
        for number, changes, packed in fetch_all(
            "SELECT id, changes, block FROM rewind_sealedblock WHERE segment_id = $1"
            " AND (pubkey, slot, position) > ($2, $3, $4) ORDER BY pubkey, slot, position",
            segment,
            *key,
        )
    ]


def activate(segment: SealedSegment, now: Any) -> bool:
    """From the transaction's end on readers read the segment, and its partitions are gone; rows
    that came to these while it was built are in new ones. False when others were at them for too
    long, and nothing has changed.
    """
    replaced = [Partition.of_table(table) for table in segment.tables]
    try:
        with transaction.atomic():
            if not slots.lock_window():
                return False
            lift_timeouts()
            if not SealedSegment.objects.filter(pk=segment.pk, state=State.BUILDING).exists():
                return False
            late = late_rows.keep(segment.tables, segment.first_slot, segment.last_slot)
            SealedSegment.objects.filter(pk__in=segment.segments).update(
                state=State.RETIRED, retired_at=now
            )
            SealedSegment.objects.filter(pk=segment.pk).update(state=State.ACTIVE, sealed_at=now)
            partitions.drop_in_transaction(replaced)
            if late:
                partitions.ensure(late)
                late_rows.put_back(writing.COLUMNS)
            late_rows.forget(segment.first_slot, segment.last_slot)
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True


def advance(
    segment: SealedSegment,
    done: Key,
    *,
    sums: tuple[int, bytes],
    has_genesis: bool,
    **added: int,
) -> None:
    """What was packed counts, up to the key. `sums` are those of lamports and hashes so far."""
    SealedSegment.objects.filter(pk=segment.pk).update(
        done_pubkey=done.pubkey,
        done_slot=done.slot,
        done_position=done.position,
        lamports=sums[0],
        digest=sums[1],
        has_genesis=has_genesis,
        **{name: F(name) + value for name, value in added.items()},
    )


def keep_dictionary(segment: SealedSegment, dictionary: bytes | None) -> None:
    SealedSegment.objects.filter(pk=segment.pk).update(dictionary=dictionary)


def newest_dictionary(from_slot: int) -> bytes | None:
    """That of the last sealed segment that readers read, if it begins at the slot or above."""
    found = SealedSegment.objects.filter(
        state=State.ACTIVE, first_slot__gte=from_slot, dictionary__isnull=False
    )
    dictionary = found.order_by("-id").values_list("dictionary", flat=True).first()
    return None if dictionary is None else bytes(dictionary)


def has_retired(before: Any) -> bool:
    """Whether `delete_retired` would find any."""
    return _retired(before).exists()


def _retired(before: Any) -> QuerySet[SealedSegment]:
    gone = SealedSegment.objects.filter(state=State.RETIRED, cold_name="")
    return gone.exclude(retired_at__gte=before)


def delete_retired(before: Any) -> int:
    """Deletes some blocks of segments that were retired before the moment, and segments that have
    none left; how many blocks. Those that have objects in the store wait until these are gone.
    """
    for segment in _retired(before).order_by("id")[:1]:
        deleted = execute(
            "DELETE FROM rewind_sealedblock WHERE id IN (SELECT id FROM rewind_sealedblock"
            " WHERE segment_id = %s LIMIT %s)",
            [segment.pk, _DELETED_AT_ONCE],
        )
        if deleted < _DELETED_AT_ONCE:
            segment.delete()
        return deleted + 1
    return 0


def retire(segments: Sequence[int]) -> None:
    """Readers no longer read them."""
    SealedSegment.objects.filter(pk__in=segments, state=State.ACTIVE).update(
        state=State.RETIRED, retired_at=Now()
    )
    partitions.note_layout()
