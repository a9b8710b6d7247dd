"""Celery tasks of landing."""

import logging
from datetime import timedelta
from functools import cache

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from chain.units import Slot
from priority.fates.services import retention
from priority.reports.services import counting, thresholds
from priority.treasury.services import sweeps
from rewind.recording.store.slots import bounds
from shared_state.outages import until_next_call
from tipping.services import sweeping
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)


@cache
def node_at(url: str) -> Node:
    """One for the process: its connections stay open."""
    return Node(url)


@shared_task
def sweep_tips() -> None:
    """Submits sweeps planned before a crash first: their addresses must not be planned again."""
    policy = sweeping.SweepPolicy(
        seed=settings.TIP_SECRET_SEED,
        treasury=settings.TREASURY_ADDRESS,
        after=timedelta(seconds=settings.TIP_SWEEP_AFTER_SECONDS),
    )
    with until_next_call("sweep_tips", log):
        sweeps.carry_on(now=timezone.now())
        if not settings.UPSTREAM_RPC_URL:
            return
        try:
            planned = sweeping.plan(
                node_at(settings.UPSTREAM_RPC_URL),
                policy=policy,
                recorded_to=_newest_archived,
                now=timezone.now(),
            )
        except NodeError as error:
            log.warning("tips are not swept until the node answers: %s", error)
            return
        if planned:
            log.info("sweeps of tips planned: %d", planned)
            sweeps.carry_on(now=timezone.now())


def _newest_archived() -> Slot | None:
    found = bounds()
    return None if found is None else found[1]


@shared_task
def forget_submissions() -> None:
    """The next call continues with a long backlog."""
    with until_next_call("forget_submissions", log):
        retention.forget(timedelta(days=settings.SUBMISSION_DAYS), now=timezone.now())


@shared_task
def count_landings() -> None:
    """Counts, and compares customers' thresholds with the counts. The next call continues with the
    remaining changes.
    """
    with until_next_call("count_landings", log):
        counting.count(kept=timedelta(days=settings.SUBMISSION_DAYS), now=timezone.now())
        thresholds.watch(now=timezone.now())
