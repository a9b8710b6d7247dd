"""Celery tasks of ingest."""

import logging

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from ingest.errors import WrongChain
from ingest.readiness import is_following
from ingest.services import (
    classification,
    fates,
    filling,
    ledger_repair,
    node_stakes,
    orders,
    refuted_repair,
    retention,
    slots,
)
from ingest.slot_queue import TASK
from ingest.sources import nodes, upstream_node
from shared_state import clock
from shared_state.outages import until_next_call
from upstream.node import NodeError

log = logging.getLogger(__name__)

# Below the tasks' time limit; slots that are still queued then are left to the next task.
_SECONDS = 60.0


@shared_task(name=TASK)
def store_queued_slots(_slot: int = 0) -> None:
    """Stores queued slots, in order."""
    with until_next_call("store_queued_slots", log):
        ingested = slots.ingest_waiting(now=timezone.now, seconds=_SECONDS)
        for refused, reason in ingested.refused.items():
            log.error("slot %d was refused: %s", refused, reason)


@shared_task
def repair_ledger() -> None:
    with until_next_call("repair_ledger", log):
        ledger_repair.repair_from_nodes(now=timezone.now)


@shared_task
def classify_slots() -> None:
    with until_next_call("classify_slots", log):
        classification.classify(now=timezone.now())


@shared_task
def fill_gaps() -> None:
    with until_next_call("fill_gaps", log):
        filling.fill_due_gaps(now=timezone.now)


@shared_task
def work_off_orders() -> None:
    with until_next_call("work_off_orders", log):
        if settings.ARCHIVE_PROOF_REPAIR:
            refuted_repair.ask(now=timezone.now())
        orders.work_off(now=timezone.now, seconds=_SECONDS)


@shared_task
def learn_stakes() -> None:
    node = upstream_node()
    if node is None or not settings.ARCHIVE_PROOF_PERCENT:
        return
    with until_next_call("learn_stakes", log):
        try:
            node_stakes.learn(node)
        except (NodeError, WrongChain) as fault:
            log.info("stakes are not known: %s", fault)


@shared_task
def apply_retention() -> None:
    with until_next_call("apply_retention", log):
        retention.apply(
            archive_slots=settings.ARCHIVE_RETENTION_SLOTS,
            ledger_slots=settings.LEDGER_RETENTION_SLOTS,
        )


@shared_task
def settle_fates() -> None:
    with until_next_call("settle_fates", log):
        is_standing = not is_following(now_seconds=clock.seconds())
        fates.settle_due(
            node=upstream_node() or next(iter(nodes()), None),
            now=timezone.now(),
            patience=fates.STANDING_PATIENCE if is_standing else fates.PATIENCE,
        )
