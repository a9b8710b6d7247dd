"""Drops partitions below the retention window, after carrying over their current states."""

from itertools import takewhile

from django.db import transaction

from chain.slot_ranges import SlotRange
from columns.queries import lift_timeouts
from gaps import life_cycle
from rewind.accounts.store import absence, slot_lookup
from rewind.models import Gap
from rewind.positions import Position
from rewind.proof.store import proof_queue, proof_runs, slot_proofs
from rewind.recording.store import carry_over, dropped_writes, partitions
from rewind.recording.store import slots as store
from rewind.recording.store.partitions import Sealed, segment_of
from rewind.sealed.store import (
    damage,
    sealing,
    segments,
    unsealing,
)


def prune(before_slot: int) -> list[partitions.Partition]:
    """The window begins at the slot, and partitions that lie wholly below it fall; which ones did
    now, others at the next run.

    Each account's newest state in them becomes a row of kind base where the first partition that
    stays begins, so that an account that never changes stays readable. It may be stopped anywhere
    and run again, and slots may be recorded meanwhile. What is sealed from the lowest damaged
    segment on stays until that is repaired or opened as a gap: it may have the newest states.
    """
    # From here on no one writes below, so what is carried now is the newest there will be.
    with transaction.atomic():
        if not store.lock_window():
            return []
        lift_timeouts()
        first_kept = max(before_slot, store.first_kept_slot())
        _move_edge(first_kept)
        life_cycle.cut_below(Gap, first_kept)
        store.forget_below(first_kept)
        proof_queue.drop_below(first_kept)
        proof_runs.cut_below(first_kept)
        slot_proofs.cut_below(first_kept)
    damaged = damage.lowest_slot()
    falling = _falling(first_kept if damaged is None else min(first_kept, damaged))
    if not falling:
        return []
    edge = max(each.last for each in falling) + 1
    _carry_over(edge)
    # Last, for they hold what a run that was stopped has not carried yet; and the lowest first,
    # for a higher one may show that what a lower one holds was closed.
    fallen = list(takewhile(_drop, falling))
    if fallen == falling and segment_of(falling[0].first) < segment_of(edge):
        _forget_segments(segment_of(edge))
    return [each for each in fallen if isinstance(each, partitions.Partition)]


def _falling(first_kept: int) -> list[partitions.Partition | Sealed]:
    """What lies below the slot as a whole, lowest first, and what is sealed before the late rows
    over it: these say otherwise.
    """
    sealed = [Sealed(each.id, each.first_slot, each.last_slot) for each in sealing.active()]
    both: list[partitions.Partition | Sealed] = [*sealed, *partitions.existing()]
    edge = first_kept
    while cut := [each.first for each in both if each.first < edge <= each.last]:
        edge = min(cut)
    both.sort(key=lambda each: (each.first, isinstance(each, partitions.Partition)))
    return [each for each in both if each.last < edge]


def _drop(each: partitions.Partition | Sealed) -> bool:
    if isinstance(each, partitions.Partition):
        return partitions.drop(each)
    with transaction.atomic():
        sealing.retire([each.id])
    return True


def _move_edge(first_kept: int) -> None:
    """The edge's wholeness is read before the gaps below it are deleted."""
    if first_kept > store.first_kept_slot():
        life_cycle.lock()
        bounds = store.bounds()
        whole = (
            bounds is not None
            and bounds[1] >= first_kept - 1
            and absence.wholeness(Position.end_of(first_kept - 1)).of_the_living
        )
        lost = _lost_below(first_kept)
        store.keep_from(first_kept, edge_is_whole=whole, lost=lost)


def _lost_below(first_kept: int) -> SlotRange | None:
    """The newest run of slots that leaves the window without having been seen."""
    lookup = slot_lookup.look_up_slot(first_kept - 1)
    if lookup.gap_first is not None and lookup.gap_last is not None:
        return SlotRange(lookup.gap_first, min(lookup.gap_last, first_kept - 1))
    if lookup.unseen_to is not None and lookup.unseen_to >= lookup.first_kept:
        return SlotRange(lookup.first_kept, min(lookup.unseen_to, first_kept - 1))
    return None


def _carry_over(edge: int) -> None:
    with transaction.atomic():
        lift_timeouts()
        partitions.ensure([edge])
    for number in range(segments.SLICES):
        with transaction.atomic():
            lift_timeouts()
            store.lock_for_writing([])
            unsealing.copy_newest_below(*segments.slice_bounds(number), edge)
            dropped_writes.carry(number, edge)
            carry_over.carry(number, edge)


def _forget_segments(below: int) -> None:
    for number in range(segments.SLICES):
        with transaction.atomic():
            lift_timeouts()
            segments.forget_below(below, number)
