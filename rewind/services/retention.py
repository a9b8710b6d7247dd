"""What leaves the window: whole partitions, once what is still true of them has been carried on."""

from datetime import datetime
from itertools import takewhile

from django.db import transaction

from rewind.models import Gap
from rewind.store import carrying, partitions, writing
from rewind.store import slots as store

PRUNED = "out of the window"


def prune(before_slot: int, now: datetime) -> list[partitions.Partition]:
    """Partitions that lie wholly below the slot fall; which ones did now, others at the next run.

    Each account's newest state in them becomes a row of kind base where the window begins from
    then on, so that an account that never changes stays readable. It may be stopped anywhere and
    run again, and slots may be recorded meanwhile.
    """
    falling = [each for each in partitions.existing() if each.last < before_slot]
    if not falling:
        return []
    first_kept = falling[-1].last + 1
    # From here on nobody writes below, so what is carried now is the newest there will be.
    with transaction.atomic():
        writing.lift_timeouts()
        store.lock_window()
        first_kept = max(first_kept, store.first_kept_slot())
        store.keep_from(first_kept)
        _forget_gaps(first_kept, now)
    with transaction.atomic():
        writing.lift_timeouts()
        partitions.ensure([first_kept])
    for first_byte in range(256):
        with transaction.atomic():
            writing.lift_timeouts()
            carrying.carry(first_byte, first_kept)
    with transaction.atomic():
        writing.lift_timeouts()
        store.forget_below(first_kept)
    # Last, for they hold what a run that was stopped has not carried yet; and the lowest first,
    # for a higher one may tell that what a lower one holds was closed.
    return list(takewhile(partitions.drop, falling))


def _forget_gaps(first_kept: int, now: datetime) -> None:
    """Gaps end with the window: those below it are deleted, the one at its edge is cut."""
    Gap.objects.filter(to_slot__lt=first_kept).delete()
    Gap.objects.filter(from_slot__lt=first_kept).update(from_slot=first_kept)
