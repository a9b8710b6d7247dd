"""Tasks while the database or Redis is away: a line each, and the next call goes on."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from access import tasks as access_tasks
from alerts import tasks as alerts_tasks
from ingest import slot_queue, tasks
from management import tasks as management_tasks
from rewind.models import ArchivedSlot
from tests.ingest.queued import enqueue
from tests.rewind.samples import block
from tests.unwritable_database import read_only_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def one_line(caplog: Any, name: str, package: str = "ingest") -> None:
    (record,) = [each for each in caplog.records if each.name == f"{package}.tasks"]
    assert record.levelno == logging.WARNING and record.exc_info is None
    told = record.getMessage()
    assert told.startswith(f"{name} waits for the database or Redis: ") and "\n" not in told


@pytest.mark.parametrize(
    "task",
    [
        tasks.store_queued_slots,
        tasks.classify_slots,
        tasks.fill_gaps,
        tasks.apply_retention,
        tasks.repair_ledger,
        alerts_tasks.deliver_events,
        alerts_tasks.watch_keys,
        alerts_tasks.forget_alerts,
        access_tasks.roll_up_usage,
        access_tasks.forget_usage,
        management_tasks.forget_responses,
    ],
)
def test_without_the_database_a_task_is_one_line(
    task: Callable[[], None], caplog: Any, monkeypatch: Any
) -> None:
    name, package = task.__name__, task.__module__.partition(".")[0]
    connection.close()
    with monkeypatch.context() as away:
        away.setitem(connection.settings_dict, "HOST", "/nonexistent")
        task()
    one_line(caplog, name, package)
    task()
    one_line(caplog, name, package)  # and the next call goes on without a word


def test_no_slot_is_refused_for_a_database_that_takes_no_writes(caplog: Any) -> None:
    enqueue(*(block(slot, transactions=1) for slot in (7, 8)))
    with read_only_database():
        tasks.store_queued_slots()
        assert slot_queue.count() == 2
    one_line(caplog, "store_queued_slots")
    assert not [each for each in caplog.records if each.name == "ingest.services.slots"]
    tasks.store_queued_slots()
    assert ArchivedSlot.objects.filter(slot__in=(7, 8)).count() == 2


def test_without_redis_slots_wait_for_the_next_call(caplog: Any, settings: Any) -> None:
    enqueue(block(7, transactions=0))
    url = settings.REDIS_URL
    settings.REDIS_URL = "unix:///nonexistent/valkey.sock"
    try:
        tasks.store_queued_slots()
    finally:
        settings.REDIS_URL = url
    one_line(caplog, "store_queued_slots")
    tasks.store_queued_slots()
    assert ArchivedSlot.objects.filter(slot=7).exists()
