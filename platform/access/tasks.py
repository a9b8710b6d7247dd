"""Celery tasks of access: roll up usage, enforce monthly quotas, delete old usage."""

import logging

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from access.services import monthly_quotas, usage, usage_retention
from shared_state.outages import until_next_call

log = logging.getLogger(__name__)


@shared_task
@until_next_call("roll_up_usage", log)
def roll_up_usage() -> None:
    now = timezone.now()
    rows = usage.roll_up_usage(now=now)
    log.log(logging.INFO if rows else logging.DEBUG, "rolled up %d rows of usage", rows)
    shut, opened = monthly_quotas.enforce(now)
    if shut or opened:
        log.info("monthly limits: %d keys reached theirs, %d are unblocked", shut, opened)


@shared_task
@until_next_call("forget_usage", log)
def forget_usage() -> None:
    rows = usage_retention.forget_minutes(now=timezone.now(), days=settings.USAGE_DAYS)
    log.log(logging.INFO if rows else logging.DEBUG, "forgot %d rows of usage", rows)
