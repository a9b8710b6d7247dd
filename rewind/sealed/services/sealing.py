"""Seals finished partitions into packed blocks, and merges what was sealed into whole segments.

Each call of `seal_step` is a transaction or two and may be the last: what was packed is stored with
how far it goes. Readers change over in one transaction, and only to what was read back.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from django.db import transaction

from columns.collector import without_collector
from columns.queries import lift_timeouts
from rewind.errors import ArchiveDamaged
from rewind.recording.store import partitions
from rewind.recording.store import slots as store
from rewind.recording.store.partitions import Partition
from rewind.sealed.models import SealedSegment
from rewind.sealed.packing.block_codec import DICTIONARY_SIZE, TARGET, encode, train
from rewind.sealed.packing.changes import Change
from rewind.sealed.packing.digest import Digest
from rewind.sealed.store import (
    change_source,
    damage,
    open_blocks,
    sealing,
)
from rewind.sealed.store.change_source import BEFORE_ALL, Key
from rewind.sealed.store.sealing import Piece
from sealed.life import Backlog
from shared_state import counters

log = logging.getLogger(__name__)

# What one step packs: it takes about a second.
_CHANGES = 50_000
_DATA_BYTES = 48 << 20
_BLOCK_BYTES = TARGET
# A dictionary is made of this many ranges of keys, so many changes of each: twice as many make
# blocks no smaller.
_SAMPLED_RANGES, _SAMPLED_CHANGES = 64, 200
# Shorter ones were made of few changes.
_LEAST_REUSED = DICTIONARY_SIZE // 2
# Readers may be at work on blocks that were merged into others.
GRACE = timedelta(minutes=10)


class SealedWrongly(Exception):
    """What was read back is not what was packed; nothing of it was stored."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What lies `margin` slots or more below the newest is finished. Late rows are merged into what
    is sealed once they take `late_share` of it.
    """

    margin: int
    late_share: float = 0.02


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be sealed next: slots, the partitions in them, and what of them is sealed."""

    first_slot: int
    last_slot: int
    tables: tuple[Partition, ...]
    segments: tuple[int, ...]


def seal_step(policy: Policy, *, now: datetime) -> bool:
    """Some more of what is to be sealed; whether there may be more to do at once. It may be stopped
    anywhere and run twice at once. A damaged segment is left as it is. Raises SealedWrongly and
    ArchiveDamaged.
    """
    try:
        return _step(policy, now)
    except ArchiveDamaged as met:
        return _leave_out(met, now)


def _leave_out(met: ArchiveDamaged, now: datetime) -> bool:
    """What was to be made of a damaged segment is abandoned; whether another worker was quicker."""
    with transaction.atomic():
        lift_timeouts()
        if not sealing.claim():
            return False
        segment = sealing.building()
        damaged = damage.active_segment(met.segment)
        if segment is None or damaged is None or met.segment not in segment.segments:
            raise met
        sealing.abandon(segment)
        row = damage.block(met.block) if met.block else None
        damage.note(damaged, row, met.fault, found_by="merge", now=now)
    log.error("segment %d is not merged: %s", met.segment, met)
    return True


def _step(policy: Policy, now: datetime) -> bool:
    with transaction.atomic():
        lift_timeouts()
        if not sealing.claim():
            return False
        segment = sealing.building()
        if segment is None:
            job = next_job(policy)
            if job is None:
                return sealing.delete_retired(now - GRACE) > 0
            return sealing.begin(*_terms(job), now) is not None
        if not sealing.sources_are_there(segment):
            sealing.abandon(segment)
            return True
        with without_collector():
            if _pack(segment):
                return True
    with transaction.atomic():
        lift_timeouts()
        return sealing.claim() and sealing.activate(segment, now)


def begin_again() -> None:
    """What is being sealed is begun again later; no worker seals until the transaction ends."""
    sealing.wait()
    segment = sealing.building()
    if segment is not None:
        sealing.abandon(segment)


def next_job(policy: Policy) -> Job | None:
    """The lowest finished partition; else what of a whole segment can be merged."""
    bounds = store.bounds()
    if bounds is None:
        return None
    end = bounds[1] + 1 - policy.margin
    first_kept = store.first_kept_slot()
    sealed = sealing.active()
    finished = [each for each in partitions.existing() if each.last < end]
    for partition in _unsealed(finished, sealed, first_kept):
        return Job(partition.first, partition.last, (partition,), ())
    return _merge(sealed, finished, end, first_kept, policy)


def is_due(policy: Policy, *, now: datetime) -> bool:
    """Whether a step would find something to do."""
    if sealing.building() is not None or next_job(policy) is not None:
        return True
    return sealing.has_retired(now - GRACE)


def backlog(policy: Policy) -> Backlog:
    """The finished partitions that are not sealed yet."""
    bounds = store.bounds()
    if bounds is None:
        return Backlog(0, 0)
    end = bounds[1] + 1 - policy.margin
    finished = [each for each in partitions.existing() if each.last < end]
    waiting = list(_unsealed(finished, sealing.active(), store.first_kept_slot()))
    return Backlog(len(waiting), end - 1 - waiting[0].last if waiting else 0)


def _unsealed(
    finished: Sequence[Partition], sealed: Sequence[Piece], first_kept: int
) -> Iterator[Partition]:
    for partition in finished:
        if not _over(partition, sealed) and partition.last >= first_kept:
            yield partition


def _over(partition: Partition, sealed: Sequence[Piece]) -> list[Piece]:
    """What is sealed of the partition's slots."""
    return [
        each
        for each in sealed
        if each.first_slot <= partition.first and partition.last <= each.last_slot
    ]


def _merge(
    sealed: Sequence[Piece],
    finished: Sequence[Partition],
    end: int,
    first_kept: int,
    policy: Policy,
) -> Job | None:
    runs: dict[int, list[Piece]] = {}
    damaged = damage.damaged_segments()
    for piece in sealed:
        runs.setdefault(partitions.segment_of(piece.first_slot), []).append(piece)
    for number, pieces in sorted(runs.items()):
        first = number * partitions.SEGMENT_SLOTS
        last = first + partitions.SEGMENT_SLOTS - 1
        if last < first_kept:
            continue
        is_whole = damaged.isdisjoint(piece.id for piece in pieces)
        if last < end and len(pieces) > 1 and is_whole:
            return _of(first, last, pieces, finished)
        for piece in pieces:
            if piece.id in damaged:
                continue  # its alarm says so; what comes of it is merged once it is repaired
            job = _of(piece.first_slot, piece.last_slot, [piece], finished)
            if merges_late(piece, job.tables, policy.late_share):
                return job
    return None


def merges_late(piece: Piece, tables: Sequence[Partition], share: float) -> bool:
    """Whether the late rows in these partitions over the segment are so many that they are merged
    into it.
    """
    late = sum(map(partitions.size_of, tables))
    return late > max(share * piece.stored_bytes, 1 << 20)


def _of(first: int, last: int, pieces: Sequence[Piece], finished: Sequence[Partition]) -> Job:
    tables = tuple(each for each in finished if first <= each.first and each.last <= last)
    return Job(first, last, tables, tuple(piece.id for piece in pieces))


def _terms(job: Job) -> tuple[int, int, tuple[Partition, ...], tuple[int, ...]]:
    return job.first_slot, job.last_slot, job.tables, job.segments


def _pack(segment: SealedSegment) -> bool:
    """Some more changes lie in blocks, and were read back; False when there are no more."""
    done = BEFORE_ALL
    if segment.done_pubkey is not None:
        done = Key(bytes(segment.done_pubkey), segment.done_slot, segment.done_position)
    else:
        segment.dictionary = _dictionary(segment)
        sealing.keep_dictionary(segment, segment.dictionary)
    changes = _some(change_source.merged(segment.tables, segment.segments, after=done))
    if not changes:
        return False
    dictionary = None if segment.dictionary is None else bytes(segment.dictionary)
    blocks = list(encode(changes, dictionary, target=_BLOCK_BYTES))
    sealing.insert_blocks(segment.pk, blocks)
    stored = sealing.blocks_after(segment.pk, done)
    _compare(changes, stored, segment)
    total = Digest().add(changes) + Digest(
        segment.changes, int(segment.lamports), int.from_bytes(bytes(segment.digest))
    )
    sealing.advance(
        segment,
        Key(*changes[-1][:3]),
        changes=len(changes),
        blocks=len(stored),
        data_bytes=sum(len(change.data) for change in changes),
        stored_bytes=sum(len(packed) for _, _, packed in stored),
        sums=(total.lamports, total.hash.to_bytes(16)),
        has_genesis=segment.has_genesis or any(map(_is_of_genesis, changes)),
    )
    counts: dict[counters.CounterName, int] = {(counters.SEALED, "archive"): len(changes)}
    transaction.on_commit(partial(counters.add, counts), robust=True)
    return True


def _compare(
    changes: Sequence[Change], stored: Sequence[tuple[int, int, bytes]], segment: SealedSegment
) -> None:
    """Raises SealedWrongly unless the blocks that were stored have just these changes."""
    begin = 0
    for number, count, packed in stored:
        back = list(open_blocks.decoded(number, segment.pk, packed).all())
        if len(back) != count or back != changes[begin : begin + count]:
            raise SealedWrongly(
                f"block {number} of segment {segment.pk} is not what it was made of"
            )
        begin += count
    if begin != len(changes):
        raise SealedWrongly(f"segment {segment.pk} has {begin} of {len(changes)} changes")


def _is_of_genesis(change: Change) -> bool:
    return change.slot == 0 and change.pubkey == sealing.GENESIS_PUBKEY


def _some(changes: Iterator[Change]) -> list[Change]:
    found: list[Change] = []
    size = 0
    for change in islice(changes, _CHANGES):
        found.append(change)
        size += len(change.data)
        if size >= _DATA_BYTES:
            break
    return found


def _dictionary(segment: SealedSegment) -> bytes | None:
    """A partition takes that of one that was sealed before: the epoch's merge makes a new one."""
    if not segment.segments:
        known = sealing.newest_dictionary(segment.first_slot - partitions.SEGMENT_SLOTS)
        if known is not None and len(known) >= _LEAST_REUSED:
            return known

    def sampled() -> Iterator[Change]:
        for number in range(_SAMPLED_RANGES):
            low = (number * 256 // _SAMPLED_RANGES).to_bytes()
            high = ((number + 1) * 256 // _SAMPLED_RANGES).to_bytes(2).lstrip(b"\0") or b"\0"
            below = None if len(high) > 1 else high
            found = change_source.merged(
                segment.tables,
                segment.segments,
                after=Key(low, -1, 0),
                below=below,
                at_once=_SAMPLED_CHANGES,
            )
            yield from islice(found, _SAMPLED_CHANGES)

    return train(sampled()) or None
