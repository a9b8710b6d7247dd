"""Celery tasks of the ledger."""

import logging
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from historical.sealed.services import sealing
from historical.sealed.services.sealed_life import LEDGER
from sealed.life import seal_for
from shared_state import task_faults
from shared_state.outages import until_next_call

log = logging.getLogger(__name__)

_PERIOD_SECONDS = 5.0  # of the schedule
# Of reading what is sealed through: a tenth of the period of its clock.
_SCRUB_SECONDS = 1.0


@shared_task
def seal_ledger() -> None:
    """Some steps of sealing, for a share of the schedule's period."""
    if not settings.LEDGER_SEAL_SLOTS:
        return
    seconds = _PERIOD_SECONDS * settings.LEDGER_SEAL_PERCENT / 100
    with until_next_call("seal_ledger", log), task_faults.noted("seal_ledger"):
        for done in seal_for("ledger", _seal_step, seconds=seconds):
            log.info("%s", done)


def _seal_step() -> str | None:
    return sealing.seal_step(range_slots=settings.LEDGER_SEAL_SLOTS, now=timezone.now())


@shared_task
def scrub_ledger() -> None:
    """Looks into damage that reads met, and reads what is sealed through for a second; the rest on
    later runs. What remote history has is recorded again.
    """
    age = timedelta(days=settings.LEDGER_SCRUB_DAYS)
    with until_next_call("scrub_ledger", log), task_faults.noted("scrub_ledger"):
        LEDGER.scrub(older_than=age, seconds=_SCRUB_SECONDS, now=timezone.now)
