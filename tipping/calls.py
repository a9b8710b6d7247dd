"""Calls to the workers, from any process."""

import logging
import time
from functools import cache

from celery import Celery

from shared_state.outages import AWAY

log = logging.getLogger(__name__)

_EVERY_SECONDS = 1.0
_requested_at = float("-inf")


@cache
def _app() -> Celery:
    app = Celery("tidemark-tipping")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    return app


def request_batches() -> None:
    """Has a worker prepare and open missing batches now, ahead of the schedule. At most once a
    second per process. Never fails: the schedule does the same later.
    """
    global _requested_at
    if time.monotonic() - _requested_at < _EVERY_SECONDS:
        return
    _requested_at = time.monotonic()
    try:
        _app().send_task("tipping.tasks.prepare_tip_batches", retry=False, expires=10)
    except AWAY as error:
        log.warning("could not request tip batches from a worker: %s", error)


def forget() -> None:
    global _requested_at
    _requested_at = float("-inf")
