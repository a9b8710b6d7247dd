"""Celery tasks of alerts: delivery, key notices, retention."""

import logging
from functools import partial

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from alerts.services import delivering, key_notices, mailing, retention, routing
from alerts.worker_threads import WorkerThreads
from shared_state.outages import until_next_call

log = logging.getLogger(__name__)

# Per worker process. Requests run in threads, not in tasks, so that the worker still rotates tip
# batches while receivers take their ten seconds. Failing webhooks have threads of their own.
_working, _failing, _mails = WorkerThreads(12), WorkerThreads(4), WorkerThreads(4)
_MOST_ROUNDS = 20


@shared_task(name="alerts.tasks.tell_people")
@until_next_call("deliver_events", log)
def deliver_events() -> None:
    """Routes new events and starts due deliveries in threads that outlive the task."""
    events = 0
    for _ in range(_MOST_ROUNDS):
        routed = routing.route_events(now=timezone.now(), staff_mail=settings.STAFF_MAIL)
        events += routed
        if routed < routing.MOST_EVENTS:
            break
    if events:
        log.info("routed %d events", events)
    for threads, failing in ((_working, False), (_failing, True)):
        if threads.free > 0:
            for turn in delivering.claim(now=timezone.now(), most=threads.free, failing=failing):
                threads.start(partial(delivering.deliver, turn, clock=timezone.now))
    if _mails.free > 0:
        for mail in mailing.claim(now=timezone.now(), most=_mails.free):
            _mails.start(partial(mailing.deliver, mail, clock=timezone.now))


@shared_task
@until_next_call("watch_keys", log)
def watch_keys() -> None:
    events = key_notices.publish_notices(now=timezone.now())
    log.log(logging.INFO if events else logging.DEBUG, "published %d key notices", events)


@shared_task
@until_next_call("forget_alerts", log)
def forget_alerts() -> None:
    events = retention.delete_old_events(now=timezone.now())
    log.log(logging.INFO if events else logging.DEBUG, "deleted %d old events", events)
