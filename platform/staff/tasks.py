"""What clocks do for the staff."""

from celery import shared_task
from django.utils import timezone

from staff import audit_chain


@shared_task
def check_audit_log() -> None:
    audit_chain.check(timezone.now())
