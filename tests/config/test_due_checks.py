"""What a clock asks before it sends a task."""

import threading
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
from config.clock import Clock
from config.due_checks import QUESTIONS, Questioner
from historical.services.recording import record_blocks
from rewind.services.recording import record_slots
from rewind.store.partitions import PARTITION_SLOTS
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
def questioner() -> Iterator[Questioner]:
    questioner = Questioner(seconds=PATIENCE_SECONDS)
    yield questioner
    questioner.close()


def test_every_question_is_of_an_entry_and_can_be_answered(questioner: Questioner) -> None:
    assert QUESTIONS.keys() <= app.conf.beat_schedule.keys()
    for name, question in QUESTIONS.items():
        assert question(timezone.now()) in (True, False), name
    assert not questioner.has_nothing("watch-over-service"), "nobody asks for it"


def test_a_task_is_not_sent_until_it_has_something_to_do(questioner: Questioner) -> None:
    Event.objects.all().delete()
    assert questioner.has_nothing("send-notifications")
    Event.objects.create(kind="key.created", at=timezone.now(), about="x", text="x", data={})
    assert not questioner.has_nothing("send-notifications")


def test_a_rotation_is_due_when_a_window_ends(questioner: Questioner) -> None:
    now = timezone.now()
    TtlClass.objects.all().delete()
    TtlClass.objects.create(ttl_seconds=60, window_seconds=30, batch_size=16)
    batches.prepare_batches(seed=bytes(32), now=now)
    assert not questioner.has_nothing("rotate-tip-batches"), "no batch is open"
    batches.rotate_due(now=now)
    assert not batches.is_rotation_due(now=now)
    assert questioner.has_nothing("rotate-tip-batches")
    assert batches.is_rotation_due(now=now + timedelta(days=30))


def test_what_works_in_the_background_is_not_sent_while_there_is_nothing(
    questioner: Questioner, settings: Any, committed: None
) -> None:
    settings.LEDGER_SEAL_SLOTS, settings.ARCHIVE_SEAL_AFTER_SLOTS = 64, 0
    sealing = ("seal-archive", "seal-ledger")
    reading = ("scrub-archive", "scrub-ledger")
    for name in (*sealing, *reading, "count-stakes", "move-archive"):
        assert questioner.has_nothing(name), name
    records = [block(slot, writes=[write(slot)]) for slot in (1, 2 * PARTITION_SLOTS)]
    long_ago = timezone.now() - timedelta(days=1)
    record_slots(records, source="stream", now=long_ago)
    record_blocks(records, now=long_ago)
    assert not any(map(questioner.has_nothing, sealing))
    assert all(map(questioner.has_nothing, reading))
    for store in ("archive", "ledger"):
        client().sadd(f"{NAMESPACE}damage:{store}", "1:1")
    assert not any(map(questioner.has_nothing, reading))
    settings.ARCHIVE_STORE = "file:///nowhere"
    assert not questioner.has_nothing("move-archive")


def test_a_question_that_hangs_or_fails_keeps_no_task_from_being_sent() -> None:
    going_on, asked = threading.Event(), threading.Event()

    def hangs(_now: Any) -> bool:
        asked.set()
        going_on.wait()
        return False

    def fails(_now: Any) -> bool:
        raise OSError("away")

    questioner = Questioner({"hangs": hangs, "fails": fails}, seconds=0.01)
    assert not questioner.has_nothing("hangs")
    assert asked.wait(PATIENCE_SECONDS)
    assert not questioner.has_nothing("fails"), "the other is not answered yet"
    going_on.set()
    patient = Questioner({"fails": fails}, seconds=PATIENCE_SECONDS)
    assert not patient.has_nothing("fails")
    questioner.close()
    patient.close()


def test_a_clock_sends_each_task_at_its_time(tmp_path: Path) -> None:
    clocks = Celery("clocks")
    clocks.config_from_object("django.conf:settings", namespace="CELERY")
    clocks.conf.beat_schedule = {
        "watch-over-service": {"task": "operations.tasks.watch_over_service", "schedule": 1.0},
        "forget-usage": {"task": "access.tasks.forget_usage", "schedule": 3_600.0},
    }
    clock = Clock(clocks, schedule_filename=str(tmp_path / "schedule"))
    waited = threading.Event()
    while client().llen("default") < 2:
        seconds = clock.tick()
        assert 0 < seconds <= 1
        waited.wait(seconds)
    sent = [message.decode() for message in client().lrange("default", 0, -1)]
    assert all("operations.tasks.watch_over_service" in message for message in sent)
    clock.close()


def test_a_task_finds_a_connection_after_its_database_was_restarted() -> None:
    deliver_events.apply().get()
    before = connection.connection
    deliver_events.apply().get()
    assert connection.connection is before, "it is kept from task to task"
    end_session()
    deliver_events.apply().get()
    assert connection.connection is not before
