"""Mails that are sent beside the page that asked for them."""

from smtplib import SMTPException

from celery import shared_task

from portal import store
from portal.models import Member
from portal.services import alert_mails, mails

_FAILURES = (SMTPException, OSError)


@shared_task(autoretry_for=_FAILURES, retry_backoff=5, retry_backoff_max=300, max_retries=8)
def mail_invitation(member_id: int) -> None:
    member = Member.objects.select_related("user", "customer").filter(pk=member_id).first()
    if member is not None:
        mails.mail_invitation(member)


@shared_task(autoretry_for=_FAILURES, retry_backoff=5, retry_backoff_max=300, max_retries=8)
def mail_new_password(email: str) -> None:
    mails.mail_new_password(email)


@shared_task(autoretry_for=_FAILURES, retry_backoff=5, retry_backoff_max=300, max_retries=8)
def mail_alert_address(member_id: int, address: str) -> None:
    member = store.active_owner(member_id)
    if member is not None:
        alert_mails.mail_confirmation(member, address)
