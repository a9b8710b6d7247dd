"""Watching over the service: a sample and a look at the rules, every 15 s, by whoever is there."""

import logging
import time
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

from alerts.tasks import tell_people
from operations.models import Sample
from operations.readings.present import MOMENT_SECONDS, Readings, read, stood_in
from operations.rules import CLOCK_PATIENCE
from operations.services import alarms, sampling

log = logging.getLogger(__name__)

_LOCK = 7_340_220
# A process that has just begun gives the worker time to do so too.
_GRACE_SECONDS = 60.0

_began = time.monotonic()
_looked_at = 0.0
_said = ""


def watch(*, now: datetime, stands_in: bool = False) -> bool:
    """One step; False when somebody else does it, or did it in this step of time."""
    readings = read(now)
    with transaction.atomic():
        return _alone() and _step(readings, now, stands_in)


def stand_in() -> None:
    """Watches in the worker's place when nobody has for a while: a worker that is dead cannot say
    that it is. Called every few seconds in each web process, in a thread of its own.
    """
    global _looked_at, _said
    started = time.monotonic()
    if started - _began < _GRACE_SECONDS or started - _looked_at < MOMENT_SECONDS:
        return
    _looked_at = started
    try:
        text = ""
        if is_overdue(now=timezone.now()):
            text = "neither worker nor beat watches: a web process does"
            watch(now=timezone.now(), stands_in=True)
            tell_people()  # the worker that would is the one that is missing
    except Exception as error:
        connection.close()
        text = f"nobody watches, and this web process cannot: {str(error).strip()}"
    if text:
        log.log(logging.DEBUG if text == _said else logging.WARNING, "%s", text)
    _said = text


def is_overdue(*, now: datetime) -> bool:
    """Whether the worker has not watched for a while, and no web process in its place just now."""
    newest = Sample.objects.filter(resolution=MOMENT_SECONDS).order_by("-at").first()
    if newest is None:
        return True
    step = timedelta(seconds=MOMENT_SECONDS)
    patience = step if stood_in(newest) else CLOCK_PATIENCE + step
    return now - newest.at >= patience


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])


def _step(readings: Readings, now: datetime, stands_in: bool) -> bool:
    if not sampling.store_sample(readings, now=now, stands_in=stands_in):
        return False
    alarms.evaluate(readings, now=now)
    sampling.roll_up(now=now)
    alarms.forget_closed(now=now)
    return True
