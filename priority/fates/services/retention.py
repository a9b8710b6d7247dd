"""Deletion of old submissions."""

import logging
from datetime import datetime, timedelta

from priority.fates.services.settling import end_watches
from priority.fates.store import cosubmitters
from priority.fates.store.fates import forget_settled_before, forget_unwatched_before

log = logging.getLogger(__name__)

_MOST_STEPS = 100
_MOST_ENDED = 2_000


def forget(kept: timedelta, *, now: datetime) -> None:
    """Deletes settled submissions that were accepted longer ago, in steps that readers do not
    notice, up to two hundred thousand at once. Of those on durable nonces that are not settled the
    watch ends; they are deleted after the same time again.
    """
    for _ in range(_MOST_STEPS):
        if not end_watches(accepted_before=now - kept, most=_MOST_ENDED, now=now):
            break
    cosubmitters.forget_before(now - kept)
    forgotten = 0
    for _ in range(_MOST_STEPS):
        step = forget_settled_before(now - kept) or forget_unwatched_before(now - 2 * kept)
        if step == 0:
            break
        forgotten += step
    if forgotten:
        log.info("%d old submissions were deleted", forgotten)
