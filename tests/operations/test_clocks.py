"""A clock that is off, or was set: one process's, or that of all."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from operations.models import Alarm, Sample
from operations.readings.present import read
from operations.readings.processes import DUTIES
from operations.services import alarms, watching
from shared_state import clock, heartbeats
from tests.patience import PATIENCE_SECONDS
from tests.readiness import readyz

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

HOUR = timedelta(hours=1)
# A lander whose machine is an hour ahead or behind.
_LANDER = """
import sys, time
sys.path[:0] = ["platform", "."]
real, off = time.time, float(sys.argv[1])
time.time = lambda: real() + off
import django
django.setup()
from embedded.notify import progress
from shared_state import heartbeats
heartbeats.start("lander", by_progress=True)
while True:
    progress()
    time.sleep(0.1)
"""


@pytest.fixture(autouse=True)
def _nothing_else_runs(settings: Any, tmp_path: Path) -> None:
    settings.RUN_DIR, settings.LOCALNET_DIR = tmp_path, tmp_path
    clock.forget()


@contextmanager
def lander(seconds: float) -> Iterator[int]:
    command = [sys.executable, "-c", _LANDER, str(seconds)]
    with subprocess.Popen(command) as process:
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while "lander" not in heartbeats.kinds(now=clock.seconds()):
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.05)
            yield process.pid
        finally:
            process.kill()


@pytest.mark.parametrize(("seconds", "word"), [(3_600, "1 h ahead"), (-3_600, "1 h behind")])
def test_a_process_whose_clock_is_off_is_alive_and_named(seconds: float, word: str) -> None:
    with lander(seconds) as pid:
        now = clock.now()
        found = {each.kind: each for each in read(now).processes or ()}["lander"]
        assert (found.alive, found.trouble) == (1, "")
        assert found.heard_at is not None and abs(now - found.heard_at) < timedelta(seconds=60)
        readings = read(now)
    for after in (0, 10):
        alarms.evaluate(readings, now=now + timedelta(seconds=after))
    alarm = Alarm.objects.get(name="clock_differs")
    assert alarm.opened_at is not None
    assert f"the lander process {pid} on " in alarm.text
    assert word in alarm.text


def test_a_clock_that_was_an_hour_ahead_leaves_nothing_of_the_future(client: Any) -> None:
    now = clock.now()
    for after in (0, 15, 300, 315):
        assert watching.watch(now=now + HOUR + timedelta(seconds=after))
    assert not watching.is_overdue(now=now + HOUR + timedelta(seconds=316))
    ahead = Alarm.objects.get(name="process_missing", subject="lander")
    Alarm.objects.filter(pk=ahead.pk).update(opened_at=None, began_at=now + HOUR)

    assert watching.is_overdue(now=now), "no sample is of this time"
    watched = readyz(client)[1]["checks"]["processes"]["watchedSecondsAgo"]
    assert watched is None
    assert watching.watch(now=now), "the step is free"
    assert not Sample.objects.filter(at__gt=now).exists()
    alarm = Alarm.objects.get(pk=ahead.pk)
    assert (alarm.began_at, alarm.opened_at) == (now, now), "it does not wait for an hour"
    assert 0 <= readyz(client)[1]["checks"]["processes"]["watchedSecondsAgo"] < 60


def test_alarms_close_although_the_clock_was_set_back() -> None:
    now = clock.now()
    assert watching.watch(now=now + HOUR)
    assert Alarm.objects.filter(name="process_missing", closed_at=None).exists()
    for after in (0, 15):
        at = now + timedelta(seconds=after)
        for kind in DUTIES:
            heartbeats.beat(kind, at=at.timestamp())
        assert watching.watch(now=at)
    left = Alarm.objects.filter(name="process_missing", closed_at=None).exclude(subject="localnet")
    assert not left.exists()


def test_a_mail_is_not_held_back_by_the_time_of_the_last_one() -> None:
    from alerts import store
    from alerts.models import Delivery, Event, Mailbox

    now = datetime(2026, 11, 21, tzinfo=UTC)
    Mailbox.objects.create(address="a@b.example", mailed_at=now + HOUR, busy_until=now + HOUR)
    event = Event.objects.create(kind="alarm.opened", about="a", text="b", at=now)
    Delivery.objects.create(event=event, mail_to="a@b.example", due_at=now)
    minute = timedelta(seconds=60)
    claimed = store.claim_mailboxes(
        now=now, until=now + 2 * minute, mailed_before=now - minute, most=5
    )
    assert claimed == ["a@b.example"]
