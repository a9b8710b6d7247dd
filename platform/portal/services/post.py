"""Queues mails for the worker: the response is the same for known and unknown addresses."""

from functools import cache
from typing import Any

import redis
from celery import Celery
from kombu.exceptions import OperationalError


@cache
def _app() -> Celery:
    app = Celery("tidemark-mails")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    return app


def post_invitation(member_id: int) -> bool:
    """False if it cannot be queued now."""
    return _post("portal.tasks.mail_invitation", member_id)


def post_new_password(email: str) -> bool:
    """Likewise."""
    return _post("portal.tasks.mail_new_password", email)


def _post(task: str, *args: Any) -> bool:
    try:
        _app().send_task(task, args, retry=False)
    except (OperationalError, redis.RedisError, OSError):
        return False
    return True
