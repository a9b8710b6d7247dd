"""Monitoring of the service: samples and alarms every 15 s, processes every second."""

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from msgspec import structs

from alerts.tasks import deliver_events
from columns.advisory_locks import AdvisoryLock, try_for, wait_for
from embedded.run_state import read_run_state
from historical.blocks.services.bounds import newest_slot_or_none
from operations import store
from operations.readings.present import MOMENT_SECONDS, Readings, read, stood_in
from operations.readings.processes import read_processes
from operations.rules.processes import CLOCK_PATIENCE, process_findings
from operations.rules.table import BY_NAME
from operations.services import alarms, held_alarms, sampling
from shared_state import clock
from shared_state.outages import outage_of

log = logging.getLogger(__name__)

# Without a supervisor that knows what is starting, a young web process leaves it to the others.
_GRACE_SECONDS = 60.0
# Processes are checked for so long after a problem, so that their alarms close.
_CALM_SECONDS = 15.0
_EXPECTED_SECONDS = 10.0
_LONGEST_PATIENCE = CLOCK_PATIENCE + timedelta(seconds=MOMENT_SECONDS)
_CLOCKS = {"worker", "beat"}


@dataclass(slots=True)
class _StandIn:
    """State of this web process between two checks (times are monotonic)."""

    began: float
    watched_at: float = 0.0
    unwell_at: float = 0.0
    newest_slot: int | None = None
    newest_slot_at: float = 0.0
    # Until then the newest sample is new enough.
    sampled_until: datetime | None = None
    logged: str = ""


_stand_in = _StandIn(time.monotonic())


def watch(*, now: datetime, stands_in: bool = False) -> bool:
    """One step; False if another process did it in this step of time. While the database takes no
    writes its alarms are held elsewhere.
    """
    readings = None
    try:
        readings = read(now)
        with transaction.atomic():
            wait_for(AdvisoryLock.WATCHING)
            return _step(readings, now, stands_in)
    except (DatabaseError, InterfaceError) as error:
        outage = outage_of(error)
        if outage is None:
            raise
        if not connection.in_atomic_block:
            connection.close()
        if readings is not None:
            database = structs.replace(readings.database, problem=outage.text)
            readings = structs.replace(readings, database=database)
        held_alarms.evaluate(readings, outage, now=now)
        return True


def stand_in() -> None:
    """Called every second in a thread of each web process. Opens and closes the alarms of missing
    and hung processes, and does the worker's monitoring while worker or beat is one of them.
    """
    own, started = _stand_in, time.monotonic()
    is_young = started - own.began < _GRACE_SECONDS
    if is_young and read_run_state(Path(settings.RUN_DIR)) is None:
        return
    text = ""
    try:
        text = _stand_in_for_clocks(is_young)
    except Exception as error:
        connection.close()
        text = f"no process checks the alarms, and this web process cannot: {str(error).strip()}"
        if outage_of(error) is not None:
            text = "the database takes no writes: this web process checks the alarms"
            _watch_in_turn(clock.now())
    if text:
        log.log(logging.DEBUG if text == own.logged else logging.WARNING, "%s", text)
    own.logged = text


def _stand_in_for_clocks(is_young: bool) -> str:
    """What it does in the place of others; empty for nothing."""
    now = clock.now()
    unwell = watch_processes(now=now)
    if held_alarms.has_own():
        _watch_in_turn(now)
    if not (unwell & _CLOCKS or (not is_young and is_overdue(now=now))):
        return ""
    _watch_in_turn(now)
    deliver_events()  # normally a task of the worker
    return "worker or beat is not running: this web process checks the alarms in their place"


def _watch_in_turn(now: datetime) -> None:
    started = time.monotonic()
    if started - _stand_in.watched_at >= MOMENT_SECONDS:
        _stand_in.watched_at = started
        watch(now=now, stands_in=True)


def watch_processes(*, now: datetime) -> set[str]:
    """Updates the alarms of processes, unless another process is doing so. Returns the kinds that
    are missing or hung.
    """
    own, started = _stand_in, time.monotonic()
    if started - own.newest_slot_at >= _EXPECTED_SECONDS or not own.newest_slot_at:
        own.newest_slot, own.newest_slot_at = newest_slot_or_none(), started
    found = read_processes(now, newest_slot=own.newest_slot)
    if found is None:
        return set()
    unwell = {each.kind for each in found if each.trouble}
    if unwell:
        own.unwell_at = started
    if own.unwell_at and started - own.unwell_at < _CALM_SECONDS:
        with transaction.atomic():
            if try_for(AdvisoryLock.WATCHING):
                rule = BY_NAME["process_missing"]
                alarms.evaluate_rule(rule, process_findings(found, now), now=now)
    return unwell


def is_overdue(*, now: datetime) -> bool:
    """Whether neither the worker nor a web process has taken a sample recently."""
    own = _stand_in
    until = own.sampled_until
    # Later than the patience from now: the clock was set back.
    if until is not None and now < until <= now + _LONGEST_PATIENCE:
        return False
    newest = store.newest_sample(MOMENT_SECONDS, now=now)
    if newest is None:
        return True
    step = timedelta(seconds=MOMENT_SECONDS)
    patience = step if stood_in(newest) else _LONGEST_PATIENCE
    own.sampled_until = newest.at + patience
    return now >= own.sampled_until


def _step(readings: Readings, now: datetime, stands_in: bool) -> bool:
    held_alarms.store_all(now=now)
    if not sampling.store_sample(readings, now=now, stands_in=stands_in):
        return False
    alarms.evaluate(readings, now=now)
    sampling.roll_up(now=now)
    alarms.forget_closed(now=now)
    return True
