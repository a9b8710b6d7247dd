"""Celery tasks of the ledger."""

import logging
import time
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from historical.models import LedgerDamage
from historical.services import index_rebuild, repairing, scrubbing, sealing
from shared_state import task_faults
from shared_state.outages import until_next_call

log = logging.getLogger(__name__)

_PERIOD_SECONDS = 5.0  # of the schedule
# Of reading what is sealed through: a tenth of the period of its clock.
_SCRUB_SECONDS = 1.0
# A run of the index over more blocks is made again by manage.py archive_repair.
_MOST_REBUILT = 1_000


@shared_task
def seal_ledger() -> None:
    """Some steps of sealing, for a share of the schedule's period."""
    if not settings.LEDGER_SEAL_SLOTS:
        return
    with until_next_call("seal_ledger", log), task_faults.noted("seal_ledger"):
        steps = sealing.seal_for(
            range_slots=settings.LEDGER_SEAL_SLOTS,
            seconds=_PERIOD_SECONDS * settings.LEDGER_SEAL_PERCENT / 100,
            now=timezone.now,
        )
        for step in steps:
            log.info("%s", step)


@shared_task
def scrub_ledger() -> None:
    """Looks into damage that reads met, and reads what is sealed through for a second; the rest on
    later runs. What remote history has is recorded again.
    """
    end = time.monotonic() + _SCRUB_SECONDS
    age = timedelta(days=settings.LEDGER_SCRUB_DAYS)
    with until_next_call("scrub_ledger", log):
        found = scrubbing.look_into_reports(now=timezone.now())
        while settings.LEDGER_SCRUB_DAYS and time.monotonic() < end:
            done = scrubbing.scrub_step(older_than=age, now=timezone.now())
            if done is None:
                break
            found += done.found
        for each in found:
            if each.kind == LedgerDamage.Kind.INDEX:
                if index_rebuild.rebuild(each, now=timezone.now(), most_blocks=_MOST_REBUILT):
                    log.warning("%s is made again", each)
            elif repairing.record_again_from_remote_history(each, now=timezone.now()):
                log.warning("%s is recorded again from remote history", each)
