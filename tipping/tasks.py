"""Celery tasks of tipping."""

import logging
from functools import cache

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from shared_state.outages import until_next_call
from tipping import calls
from tipping.services import batches, treasury_reading
from tipping.store import tip_days
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

_NODE_SECONDS = 5.0


@cache
def node_at(url: str) -> Node:
    """The node's client; one per process, so that its connection stays open."""
    return Node(url, timeout_seconds=_NODE_SECONDS, connections=1)


@shared_task
def prepare_tip_batches() -> None:
    """Prepares batches for every class, opens one where none is open, and deletes unissued
    addresses of closed batches.
    """
    with until_next_call("prepare_tip_batches", log):
        made = batches.prepare_batches(seed=settings.TIP_SECRET_SEED, now=timezone.now())
        if made:
            log.info("prepared %d batches of tip addresses", made)
        batches.rotate_due(now=timezone.now())
        batches.delete_never_issued()


@shared_task
def rotate_tip_batches() -> None:
    """Closes batches that ended or have no addresses left, and opens the next ones."""
    with until_next_call("rotate_tip_batches", log):
        if batches.rotate_due(now=timezone.now()):
            calls.request_batches()


@shared_task
def count_tips() -> None:
    """Sums the tip ledger by day, and reads the treasury's balance from the node."""
    with until_next_call("count_tips", log):
        tip_days.count_days()
        if not settings.UPSTREAM_RPC_URL:
            return
        try:
            node = node_at(settings.UPSTREAM_RPC_URL)
            treasury_reading.read(node, settings.TREASURY_ADDRESS, now=timezone.now())
        except NodeError as error:
            log.info("the treasury's balance could not be read: %s", error)
