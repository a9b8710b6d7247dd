"""Celery's doors to landing."""

import logging
from datetime import timedelta
from functools import cache

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from priority.services import retention, sweeps, tallying
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
    """What was planned before a crash goes on first: its addresses must not be planned again."""
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
                node_at(settings.UPSTREAM_RPC_URL), policy=policy, now=timezone.now()
            )
        except NodeError as error:
            log.warning("tips are not swept until the node answers: %s", error)
            return
        if planned:
            log.info("sweeps of tips planned: %d", planned)
            sweeps.carry_on(now=timezone.now())


@shared_task
def forget_submissions() -> None:
    """What is left of a long backlog is the next call's."""
    with until_next_call("forget_submissions", log):
        retention.forget(timedelta(days=settings.SUBMISSION_DAYS), now=timezone.now())


@shared_task
def count_landings() -> None:
    """What is left of many changes is the next call's."""
    with until_next_call("count_landings", log):
        tallying.count(kept=timedelta(days=settings.SUBMISSION_DAYS), now=timezone.now())
