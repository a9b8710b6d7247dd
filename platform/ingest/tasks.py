"""Celery's doors to ingest."""

import contextlib
import logging
from collections.abc import Iterator

from celery import shared_task
from django.conf import settings
from django.db import connection
from django.utils import timezone

from ingest.outbox import AWAY
from ingest.services import classification, filling, retention, slots

log = logging.getLogger(__name__)

# Below the tasks' time limit; what waits then is the next task's.
_SECONDS = 60.0


@contextlib.contextmanager
def _until_next_call(name: str) -> Iterator[None]:
    """While the database or Redis is away a task ends with a line: it is called again anyway."""
    try:
        yield
    except AWAY as error:
        connection.close()
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        log.warning("%s waits for the database or Redis: %s", name, reason)


@shared_task
def ingest_slot(slot: int) -> None:
    """Stores what waits. The number only says why it was called: a run takes them in order."""
    ingested = slots.Ingested()
    with _until_next_call("ingest_slot"):
        ingested = slots.ingest_waiting(now=timezone.now, seconds=_SECONDS)
    for refused, reason in ingested.refused.items():
        log.error("slot %d was refused: %s", refused, reason)
    log.debug("called for slot %d: %d slots stored", slot, ingested.stored)


@shared_task
def classify_slots() -> None:
    with _until_next_call("classify_slots"):
        classification.classify(now=timezone.now())


@shared_task
def fill_gaps() -> None:
    with _until_next_call("fill_gaps"):
        filling.fill_due_gaps(now=timezone.now)


@shared_task
def apply_retention() -> None:
    with _until_next_call("apply_retention"):
        retention.apply(
            archive_slots=settings.ARCHIVE_RETENTION_SLOTS,
            ledger_slots=settings.LEDGER_RETENTION_SLOTS,
        )
