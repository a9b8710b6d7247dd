"""Celery's door to access: the usage roll-up."""

from celery import shared_task
from django.utils import timezone

from access.services import usage


@shared_task
def roll_up_usage() -> None:
    usage.roll_up_usage(now=timezone.now())
