"""Calls to the workers, from any process."""

import logging
import time

from shared_state.outages import AWAY
from shared_state.worker_calls import call_worker

log = logging.getLogger(__name__)

_EVERY_SECONDS = 1.0
_requested_at = float("-inf")


def request_batches() -> None:
    """Has a worker prepare and open missing batches now, ahead of the schedule. At most once a
    second per process. Never fails: the schedule does the same later.
    """
    global _requested_at
    if time.monotonic() - _requested_at < _EVERY_SECONDS:
        return
    _requested_at = time.monotonic()
    try:
        call_worker("tipping.tasks.prepare_tip_batches", expires_seconds=10)
    except AWAY as error:
        log.warning("could not request tip batches from a worker: %s", error)


def forget() -> None:
    global _requested_at
    _requested_at = float("-inf")
