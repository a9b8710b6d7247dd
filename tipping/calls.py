"""Calls to the workers, from whatever process."""

import logging
import time
from functools import cache

from celery import Celery

from access.outages import AWAY

log = logging.getLogger(__name__)

_EVERY_SECONDS = 1.0
_asked_at = float("-inf")


@cache
def _app() -> Celery:
    app = Celery("tidemark-tipping")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    return app


def ask_for_batches() -> None:
    """A worker prepares and opens what is lacking, now instead of when its clock calls. At most
    once a second from each process, and never an error: the clock calls anyway.
    """
    global _asked_at
    if time.monotonic() - _asked_at < _EVERY_SECONDS:
        return
    _asked_at = time.monotonic()
    try:
        _app().send_task("tipping.tasks.prepare_tip_batches", retry=False, expires=10)
    except AWAY as error:
        log.warning("no worker could be asked for tip batches: %s", error)


def forget() -> None:
    global _asked_at
    _asked_at = float("-inf")
