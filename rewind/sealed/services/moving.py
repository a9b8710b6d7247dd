"""Moves old sealed segments into the object store, and deletes objects that no segment uses.

Each call of `move_step` moves one object and may be the last: what was written is read back whole
and compared before the database lets go of it, in one transaction.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from tempfile import TemporaryFile
from typing import BinaryIO

from django.db import transaction
from xxhash import xxh3_128

from columns.queries import lift_timeouts
from rewind.errors import ArchiveDamaged
from rewind.recording.store import partitions
from rewind.recording.store import slots as store
from rewind.sealed.models import SealedSegment
from rewind.sealed.packing.changes import BlockDamaged
from rewind.sealed.packing.frames import check
from rewind.sealed.packing.object_format import About, Writer, Written
from rewind.sealed.services.sealing import GRACE, merges_late
from rewind.sealed.store import (
    cold_store,
    damage,
    moving,
    sealing,
)
from rewind.sealed.store.cold_blocks import object_name
from rewind.sealed.store.sealing import Piece
from shared_state import damage_reports
from upstream.object_store import ObjectStore

alone = moving.alone


class MovedWrongly(Exception):
    """What was read back from the store is not what was written; the database keeps its blocks."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Segments that end `after` slots or more behind the newest move, once nothing is left to merge
    into them: late rows are merged first where they take `late_share` of the segment.
    """

    after: int
    late_share: float = 0.02


def move_step(policy: Policy, *, now: datetime, grace: timedelta = GRACE) -> bool:
    """One more object; whether there may be more to do at once. It may be stopped anywhere and run
    twice at once. Raises MovedWrongly, ArchiveDamaged, ArchiveStoreUnavailable and StoreFault.
    """
    objects = cold_store.opened()
    if _delete_forgotten(objects, now - grace):
        return True
    number = next_segment(policy)
    segment = None if number is None else moving.segment(number)
    if segment is None:
        return False
    moving.name(segment)
    bucket = moving.next_bucket(segment)
    if bucket is None:
        with transaction.atomic():
            lift_timeouts()
            moving.finish(segment, now)
        return True
    with TemporaryFile(prefix="tidemark-cold-") as file:
        written, places = _write(segment, bucket, file)
        file.seek(0)
        name = object_name(segment.cold_name, bucket)
        objects.put(name, file)
    _compare(objects, name, written)
    with transaction.atomic():
        lift_timeouts()
        moving.change_over(segment, bucket, places, written.size)
    return True


def next_segment(policy: Policy) -> int | None:
    """The lowest segment that has blocks to move: alone in its run, which is finished, with late
    rows over it at most.
    """
    bounds = store.bounds()
    if bounds is None:
        return None
    end = bounds[1] + 1 - policy.after
    first_kept = store.first_kept_slot()
    building = sealing.building()
    settled = (
        moving.moved()
        | damage.damaged_segments()
        | (set() if building is None else set(building.segments))
    )
    tables = partitions.existing()
    runs: dict[int, list[Piece]] = {}
    for piece in sealing.active():
        runs.setdefault(partitions.segment_of(piece.first_slot), []).append(piece)
    for number, (piece, *others) in sorted(runs.items()):
        run_end = (number + 1) * partitions.SEGMENT_SLOTS
        if others or run_end > end or piece.last_slot < first_kept or piece.id in settled:
            continue
        late = [each for each in tables if partitions.segment_of(each.first) == number]
        if any(each.first < piece.first_slot or each.last > piece.last_slot for each in late):
            continue
        if merges_late(piece, late, policy.late_share):
            continue
        return piece.id
    return None


def _write(
    segment: SealedSegment, bucket: int, file: BinaryIO
) -> tuple[Written, list[tuple[int, int]]]:
    """The object, and (block, where it begins in it)."""
    dictionary = None if segment.dictionary is None else bytes(segment.dictionary)
    about = About(segment.first_slot, segment.last_slot, bucket)
    writer, places = Writer(file, about, dictionary), []
    for row in moving.blocks(segment.pk, bucket):
        try:
            check(row.packed.body, dictionary)
        except BlockDamaged as fault:
            damage_reports.report("archive", f"{segment.pk}:{row.id}")
            raise ArchiveDamaged(segment.pk, row.id, str(fault)) from fault
        places.append((row.id, writer.add(row.packed)))
    return writer.end(), places


def _compare(objects: ObjectStore, name: str, written: Written) -> None:
    size, digest = 0, xxh3_128()
    for piece in objects.pieces(name):
        size += len(piece)
        digest.update(piece)
    if size != written.size or digest.digest() != written.whole:
        raise MovedWrongly(f"{name} is read back as other bytes than were written")


def _delete_forgotten(objects: ObjectStore, before: datetime) -> bool:
    """The objects of one segment that was merged or left the window are gone."""
    gone = moving.next_forgotten(before)
    if gone is None:
        return False
    for each in list(objects.list(gone.cold_name)):
        objects.delete(each.name)
    moving.forget_objects(gone)
    return True
