"""Celery's doors to ingest."""

import logging

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from ingest.services import classification, filling, retention, slots

log = logging.getLogger(__name__)

# Below the tasks' time limit; what waits then is the next task's.
_SECONDS = 60.0


@shared_task
def ingest_slot(slot: int) -> None:
    """Stores what waits. The number only says why it was called: a run takes them in order."""
    ingested = slots.ingest_waiting(now=timezone.now, seconds=_SECONDS)
    for refused, reason in ingested.refused.items():
        log.error("slot %d was refused: %s", refused, reason)
    log.debug("called for slot %d: %d slots stored", slot, ingested.stored)


@shared_task
def classify_slots() -> None:
    classification.classify(now=timezone.now())


@shared_task
def fill_gaps() -> None:
    filling.fill_due_gaps(now=timezone.now)


@shared_task
def apply_retention() -> None:
    retention.apply(
        archive_slots=settings.ARCHIVE_RETENTION_SLOTS,
        ledger_slots=settings.LEDGER_RETENTION_SLOTS,
        now=timezone.now(),
    )
