"""Celery's doors to alerts: telling people, looking after keys, forgetting."""

import logging
from functools import partial

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from alerts.places import Places
from alerts.services import delivering, forgetting, mailing, spreading, watching_keys

log = logging.getLogger(__name__)

# In each worker process. Requests wait in threads and not in tasks: a worker goes on rotating tip
# batches while receivers take their ten seconds. Those that fail have places of their own.
_well, _failing, _mails = Places(12), Places(4), Places(4)


@shared_task
def tell_people() -> None:
    """Spreads what happened, and begins to deliver what is due; what is begun goes on behind it."""
    events = spreading.spread(now=timezone.now(), staff_mail=settings.STAFF_MAIL)
    if events:
        log.info("spread %d events", events)
    for places, failing in ((_well, False), (_failing, True)):
        if places.free > 0:
            for turn in delivering.claim(now=timezone.now(), most=places.free, failing=failing):
                places.take(partial(delivering.serve, turn, clock=timezone.now))
    if _mails.free > 0:
        for mail in mailing.claim(now=timezone.now(), most=_mails.free):
            _mails.take(partial(mailing.serve, mail, clock=timezone.now))


@shared_task
def watch_keys() -> None:
    events = watching_keys.watch_keys(now=timezone.now())
    log.log(logging.INFO if events else logging.DEBUG, "told of %d keys", events)


@shared_task
def forget_alerts() -> None:
    events = forgetting.forget(now=timezone.now())
    log.log(logging.INFO if events else logging.DEBUG, "forgot %d events", events)
