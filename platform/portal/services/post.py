"""Queues mails for the worker: the response is the same for known and unknown addresses."""

from typing import Any

import redis
from kombu.exceptions import OperationalError

from portal.models import Member
from portal.services import members
from shared_state.worker_calls import call_worker
from staff import outgoing_mail


def post_link(member: Member) -> bool:
    """A link to set a password; False if this service sends no mails, or it cannot be queued."""
    if members.is_invited(member.user):
        return _post("portal.tasks.mail_invitation", member.pk)
    return post_new_password(member.user.get_username())


def post_new_password(email: str) -> bool:
    """Likewise, to an address that a visitor entered."""
    return _post("portal.tasks.mail_new_password", email)


def post_alert_address(member: Member, address: str) -> bool:
    """A link to confirm the address for alerts; likewise."""
    return _post("portal.tasks.mail_alert_address", member.pk, address)


def _post(task: str, *args: Any) -> bool:
    if not outgoing_mail.is_sent():
        return False
    try:
        call_worker(task, *args)
    except (OperationalError, redis.RedisError, OSError):
        return False
    return True
