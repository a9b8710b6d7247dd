"""The periodic Celery task of operations."""

import logging

from celery import shared_task

from operations.services import watching
from shared_state import clock
from shared_state.outages import until_next_call

log = logging.getLogger(__name__)


@shared_task
def watch_over_service() -> None:
    with until_next_call("watch_over_service", log):
        watching.watch(now=clock.now())
