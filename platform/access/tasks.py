"""Celery's door to access: the usage roll-up."""

import logging

from celery import shared_task
from django.utils import timezone

from access.services import usage

log = logging.getLogger(__name__)


@shared_task
def roll_up_usage() -> None:
    rows = usage.roll_up_usage(now=timezone.now())
    log.log(logging.INFO if rows else logging.DEBUG, "rolled up %d rows of usage", rows)
