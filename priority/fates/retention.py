"""Deletion of old submissions."""

import logging
from datetime import datetime, timedelta

from priority.store import cosubmitters
from priority.store.fates import forget_settled_before

log = logging.getLogger(__name__)

_MOST_STEPS = 100


def forget(kept: timedelta, *, now: datetime) -> None:
    """Deletes settled submissions that were accepted longer ago, in steps that readers do not
    notice, up to two hundred thousand at once.
    """
    cosubmitters.forget_before(now - kept)
    forgotten = 0
    for _ in range(_MOST_STEPS):
        step = forget_settled_before(now - kept)
        if step == 0:
            break
        forgotten += step
    if forgotten:
        log.info("%d old submissions were deleted", forgotten)
