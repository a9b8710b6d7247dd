"""What leaves the window: whole partitions, once what is still true of them has been carried on."""

from itertools import takewhile

from django.db import transaction

from columns import gap_life
from rewind.models import Gap
from rewind.positions import Position
from rewind.store import absence, carrying, dropped, partitions, writing
from rewind.store import slots as store


def prune(before_slot: int) -> list[partitions.Partition]:
    """The window begins at the slot, and partitions that lie wholly below it fall; which ones did
    now, others at the next run.

    Each account's newest state in them becomes a row of kind base where the first partition that
    stays begins, so that an account that never changes stays readable. It may be stopped anywhere
    and run again, and slots may be recorded meanwhile.
    """
    # From here on nobody writes below, so what is carried now is the newest there will be.
    with transaction.atomic():
        if not store.lock_window():
            return []
        writing.lift_timeouts()
        first_kept = max(before_slot, store.first_kept_slot())
        _move_edge(first_kept)
        gap_life.cut_below(Gap, first_kept)
        store.forget_below(first_kept)
    falling = [each for each in partitions.existing() if each.last < first_kept]
    if falling:
        _carry_over(falling[-1].last + 1)
    # Last, for they hold what a run that was stopped has not carried yet; and the lowest first,
    # for a higher one may tell that what a lower one holds was closed.
    return list(takewhile(partitions.drop, falling))


def _move_edge(first_kept: int) -> None:
    """What is told of the edge's wholeness is told before the gaps below it are forgotten."""
    if first_kept > store.first_kept_slot():
        gap_life.lock()
        bounds = store.bounds()
        whole = (
            bounds is not None
            and bounds[1] >= first_kept - 1
            and absence.wholeness(Position.end_of(first_kept - 1)).of_the_living
        )
        store.keep_from(first_kept, edge_is_whole=whole)


def _carry_over(edge: int) -> None:
    with transaction.atomic():
        writing.lift_timeouts()
        partitions.ensure([edge])
    for first_byte in range(256):
        with transaction.atomic():
            writing.lift_timeouts()
            dropped.carry(first_byte, edge)
            carrying.carry(first_byte, edge)
