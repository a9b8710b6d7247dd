"""Celery tasks of the management API."""

import logging

from celery import shared_task
from django.utils import timezone

from management.services import repeats
from shared_state.outages import until_next_call

log = logging.getLogger(__name__)


@shared_task
@until_next_call("forget_responses", log)
def forget_responses() -> None:
    repeats.forget(now=timezone.now())
