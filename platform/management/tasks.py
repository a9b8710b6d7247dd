"""Celery tasks of the management API."""

from celery import shared_task
from django.utils import timezone

from management.services import repeats


@shared_task
def forget_responses() -> None:
    repeats.forget(now=timezone.now())
