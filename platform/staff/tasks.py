"""Periodic tasks of staff."""

from celery import shared_task
from django.contrib.sessions.models import Session
from django.utils import timezone

from staff import audit_chain


@shared_task
def check_audit_log() -> None:
    audit_chain.check(timezone.now())


@shared_task
def forget_sessions() -> None:
    """Deletes expired sessions."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
