"""Celery's doors to tipping."""

import logging

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from access.outages import until_next_call
from tipping import calls
from tipping.services import batches

log = logging.getLogger(__name__)


@shared_task
def prepare_tip_batches() -> None:
    """Batches for every class, opened at once where none is open; what nobody got of closed ones
    goes.
    """
    with until_next_call("prepare_tip_batches", log):
        made = batches.prepare_batches(seed=settings.TIP_SECRET_SEED, now=timezone.now())
        if made:
            log.info("prepared %d batches of tip addresses", made)
        batches.rotate_due(now=timezone.now())
        batches.delete_never_issued()


@shared_task
def rotate_tip_batches() -> None:
    """Closes what ended or ran dry, and opens what comes next."""
    with until_next_call("rotate_tip_batches", log):
        if batches.rotate_due(now=timezone.now()):
            calls.ask_for_batches()
