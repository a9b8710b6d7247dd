"""Opens damaged sealed blocks as gaps: the slots of their changes are missing again, and are filled
as those of any other gap.

Which slots these are is found by counting: each archived slot says how many writes it has, and what
can be read of the segment is counted. Other accounts' changes of the slots stay.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from chain.slot_ranges import runs
from columns.queries import lift_timeouts
from gaps import life_cycle
from gaps.causes import DAMAGED
from gaps.slot_gap import GapStatus
from rewind.accounts.store import absence
from rewind.models import Gap
from rewind.proof.services import proof_records
from rewind.recording.store import partitions
from rewind.recording.store import slots as store
from rewind.sealed.models import SealedDamage, SealedSegment
from rewind.sealed.services.scrubbing import dictionary_of, fault_of
from rewind.sealed.store import (
    block_bytes,
    change_source,
    damage,
    sealing,
)
from rewind.sealed.store.change_source import BEFORE_ALL, Key
from rewind.sealed.store.damage import BlockRow

# The writes of a slot are counted by WRITE rows.
_WRITE = 0
# Blocks that are tried, to see if the segment's dictionary is whole.
_TRIED = 64
# Reads that looked for gaps before these were opened are over then.
_PAUSE_SECONDS = 5.0
_TRIES = 30


class WritersBusy(Exception):
    """Writers were at work for too long; nothing was changed."""


@dataclass(frozen=True, slots=True)
class OpenedGap:
    """The slots that are missing now, and the blocks that left. `loses_snapshots`: rows of a
    snapshot, of genesis or from below the window may be among them, which no block brings back.
    """

    slots: int
    blocks: int
    loses_snapshots: bool


def open_as_gap(
    number: int,
    *,
    now: datetime,
    pause: Callable[[float], None] = time.sleep,
) -> OpenedGap | None:
    """The damaged blocks of the segment leave; None where it has none, or is no longer read. It may
    be stopped anywhere and run again. Raises WritersBusy, and ArchiveDamaged for blocks that were
    not known to be damaged.

    The gaps are opened first, and the blocks leave some seconds later: a read that did not see the
    gaps meets the damage.
    """
    segment = damage.active_segment(number)
    is_noted = damage.is_damaged_as_a_whole(number)
    if segment is None:
        return None
    whole = is_noted and not _can_be_read(segment)
    lost = [] if whole else _lost_blocks(number)
    if not (is_noted or lost):
        return None
    missing = _missing_slots(segment, lost, whole=whole)
    kept = 0 if whole else damage.changes_of(number) - sum(row.changes for row in lost)
    gone = segment.changes - kept
    loses = gone != sum(missing.values())
    opened = _open(segment, missing, loses=loses, now=now)
    pause(_PAUSE_SECONDS)
    _leave(number, lost, whole=whole, now=now)
    return OpenedGap(opened, segment.blocks if whole else len(lost), loses)


def _can_be_read(segment: SealedSegment) -> bool:
    """Whether its blocks are whole, and only some are missing."""
    rows = damage.blocks_after(segment.pk, BEFORE_ALL, _TRIED)
    dictionary = dictionary_of(segment)
    return any(
        not (missing or fault_of(row, dictionary, None))
        for row, missing in block_bytes.loaded(rows)
    )


def _lost_blocks(number: int) -> list[BlockRow]:
    """The damaged blocks. Where one begins amid an account's changes of a slot, the block before it
    leaves too: what it has would pass for the account's last write of the slot.
    """
    found: dict[int, BlockRow] = {}
    for block in damage.damaged_blocks(number):
        row = damage.block(block)
        while row is not None and row.id not in found:
            found[row.id] = row
            before = damage.block_before(number, row.key)
            row = before if before is not None and _goes_on(before, row) else None
    return sorted(found.values(), key=lambda row: row.key)


def _goes_on(before: BlockRow, row: BlockRow) -> bool:
    """Whether the block before it has changes of the account and slot that it begins with."""
    damaged = damage.damaged_blocks(before.segment)
    if before.id in damaged or before.pubkey[0] != row.pubkey[0]:
        return False
    slot_begins = Key(row.pubkey, row.slot, -(2**31))
    source = change_source.merged([], [before.segment], after=slot_begins, without=damaged)
    first = next(source, None)
    return first is not None and Key(*first[:3]) < row.key


def _missing_slots(
    segment: SealedSegment, lost: Sequence[BlockRow], *, whole: bool
) -> dict[int, int]:
    """The archived slots with writes that cannot be read any more, and how many each."""
    first, last = segment.first_slot, segment.last_slot
    tables = [
        each.table for each in partitions.existing() if each.first <= last and each.last >= first
    ]
    changes = change_source.merged(
        tables,
        [] if whole else [segment.pk],
        first_slot=first,
        last_slot=last,
        without={row.id for row in lost},
    )
    there = Counter(change.slot for change in changes if change.kind == _WRITE)
    archived = store.contents_between(max(first, store.first_kept_slot()), last)
    return {slot: written - there[slot] for slot, _, written in archived if written > there[slot]}


def _open(segment: SealedSegment, missing: dict[int, int], *, loses: bool, now: datetime) -> int:
    with transaction.atomic():
        lift_timeouts()
        _exclude_writers()
        if damage.lock_segment(segment.pk) is None:
            return 0
        proof_records.lose(missing.keys())
        life_cycle.lock()
        slots = store.forget(sorted(missing))
        if loses:
            absence.disprove(segment.first_slot, segment.last_slot)
        for part in runs(slots):
            life_cycle.open_gap(Gap, part, status=GapStatus.MISSING, cause=DAMAGED, now=now)
    return len(slots)


def _leave(number: int, lost: Sequence[BlockRow], *, whole: bool, now: datetime) -> None:
    with transaction.atomic():
        lift_timeouts()
        sealing.wait()
        damage.wait_for_scrub()
        building = sealing.building()
        if building is not None and number in building.segments:
            sealing.abandon(building)
        segment = damage.lock_segment(number)
        if segment is None:
            return
        blocks = [row.id for row in lost]
        if whole:
            sealing.retire([number])
            blocks = [0, *damage.damaged_blocks(number)]
        else:
            damage.delete_blocks(segment, lost)
            damage.scrub_again(number)
            blocks.append(0)
            partitions.note_layout()
        ended = damage.DAMAGES.open().filter(segment=number, block__in=blocks)
        damage.DAMAGES.end_all(ended, SealedDamage.State.GAP, "gaps of the archive", now)


def _exclude_writers() -> None:
    for _ in range(_TRIES):
        if store.lock_window():
            return
    raise WritersBusy("the archive was written to all the time: try again")
