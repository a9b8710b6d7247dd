"""What a clock asks before it sends a task."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.db import connection
from django.utils import timezone

from alerts.models import Event
from alerts.tasks import deliver_events
from config.celery_app import app
from config.workers.clock import Clock
from config.workers.due_checks import QUESTIONS
from historical.recording.services.recording import record_blocks
from rewind.recording.services.recording import record_slots
from rewind.recording.store.partitions import PARTITION_SLOTS
from shared_state.redis_client import NAMESPACE, client
from tests.databases import end_session
from tests.patience import PATIENCE_SECONDS
from tests.rewind.conftest import committed
from tests.rewind.samples import block, write
from tipping.models import TtlClass
from tipping.services import batches

__all__ = ["committed"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[Clock]:
    """A clock of one entry, due each second, and one that is due in an hour."""
    clocks = Celery("clocks")
    clocks.config_from_object("django.conf:settings", namespace="CELERY")
    clocks.conf.beat_schedule = {
        "watch-over-service": {"task": "operations.tasks.watch_over_service", "schedule": 1.0},
        "forget-usage": {"task": "access.tasks.forget_usage", "schedule": 3_600.0},
    }
    clock = Clock(clocks, schedule_filename=str(tmp_path / "schedule"))
    clock.answer_seconds = PATIENCE_SECONDS
    yield clock
    clock.close()


def test_every_question_is_of_an_entry_and_can_be_answered(clock: Clock) -> None:
    assert QUESTIONS.keys() <= app.conf.beat_schedule.keys()
    for name, question in QUESTIONS.items():
        assert question(timezone.now()) in (True, False), name
    assert not clock.has_nothing("watch-over-service"), "nobody asks for it"


def test_a_task_is_not_sent_until_it_has_something_to_do(clock: Clock) -> None:
    Event.objects.all().delete()
    assert clock.has_nothing("send-notifications")
    Event.objects.create(kind="key.created", at=timezone.now(), about="x", text="x", data={})
    assert not clock.has_nothing("send-notifications")


def test_a_rotation_is_due_when_a_window_ends(clock: Clock) -> None:
    now = timezone.now()
    TtlClass.objects.all().delete()
    TtlClass.objects.create(ttl_seconds=60, window_seconds=30, batch_size=16)
    batches.prepare_batches(seed=bytes(32), now=now)
    assert not clock.has_nothing("rotate-tip-batches"), "no batch is open"
    batches.rotate_due(now=now)
    assert not batches.is_rotation_due(now=now)
    assert clock.has_nothing("rotate-tip-batches")
    assert batches.is_rotation_due(now=now + timedelta(days=30))


def test_what_works_in_the_background_is_not_sent_while_there_is_nothing(
    clock: Clock, settings: Any, committed: None
) -> None:
    settings.LEDGER_SEAL_SLOTS, settings.ARCHIVE_SEAL_AFTER_SLOTS = 64, 0
    sealing = ("seal-archive", "seal-ledger")
    reading = ("scrub-archive", "scrub-ledger")
    for name in (*sealing, *reading, "count-stakes", "move-archive"):
        assert clock.has_nothing(name), name
    records = [block(slot, writes=[write(slot)]) for slot in (1, 2 * PARTITION_SLOTS)]
    long_ago = timezone.now() - timedelta(days=1)
    record_slots(records, source="stream", now=long_ago)
    record_blocks(records, now=long_ago)
    assert not any(map(clock.has_nothing, sealing))
    assert all(map(clock.has_nothing, reading))
    for store in ("archive", "ledger"):
        client().sadd(f"{NAMESPACE}damage:{store}", "1:1")
    assert not any(map(clock.has_nothing, reading))
    settings.ARCHIVE_STORE = "file:///nowhere"
    assert not clock.has_nothing("move-archive")


def test_a_question_that_hangs_or_fails_keeps_no_task_from_being_sent(clock: Clock) -> None:
    going_on, asked = threading.Event(), threading.Event()

    def hangs(_now: Any) -> bool:
        asked.set()
        going_on.wait()
        return False

    def fails(_now: Any) -> bool:
        raise OSError("away")

    clock.questions = {"hangs": hangs, "fails": fails}
    clock.answer_seconds = 0.01
    assert not clock.has_nothing("hangs")
    assert asked.wait(PATIENCE_SECONDS)
    assert not clock.has_nothing("fails"), "the other is not answered yet"
    going_on.set()
    clock.answer_seconds = PATIENCE_SECONDS
    assert not clock.has_nothing("fails")


def test_a_clock_sends_each_task_at_its_time(clock: Clock) -> None:
    sent = messages_after(clock, 2)
    assert all("operations.tasks.watch_over_service" in message for message in sent)


def test_a_clock_that_was_set_back_starts_tasks_all_the_same(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages_after(clock, 1)
    entries: Any = clock.schedule
    for entry in entries.values():
        entry.last_run_at += timedelta(days=1)  # as a clock that is set back leaves it
    clock.populate_heap()
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() - 1)
    messages_after(clock, 3)


def messages_after(clock: Clock, count: int) -> list[str]:
    """What is queued once there are that many."""
    waited = threading.Event()
    while client().llen("default") < count:
        seconds = clock.tick()
        assert seconds <= 1
        waited.wait(max(0.0, seconds))
    return [message.decode() for message in client().lrange("default", 0, -1)]


def test_a_task_finds_a_connection_after_its_database_was_restarted() -> None:
    deliver_events.apply().get()
    before = connection.connection
    deliver_events.apply().get()
    assert connection.connection is before, "it is kept from task to task"
    end_session()
    deliver_events.apply().get()
    assert connection.connection is not before
