"""An alarm while the database takes no writes: shown, mailed and posted at once, stored later."""

import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.utils import timezone

from alerts.models import Delivery, Event
from alerts.services import webhooks
from alerts.tasks import deliver_events
from operations.models import Alarm
from operations.readings.processes import DUTIES
from operations.services import held_alarms, watching
from shared_state import heartbeats
from shared_state.database_writes import CLAIMED
from shared_state.redis_client import client as redis_client
from tests.patience import PATIENCE_SECONDS
from tests.unwritable_database import full_database, read_only_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

NAME, TITLE = "database_down", "PostgreSQL is down"


@pytest.fixture(autouse=True)
def _staff_at_a_service_that_is_well(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.RUN_DIR, settings.LOCALNET_DIR = tmp_path, tmp_path
    (tmp_path / "heartbeat").touch()
    settings.STAFF_MAIL = ["ops@example.com"]
    yield
    held_alarms.forget()


def watch(now: datetime) -> None:
    """The worker's step, with every process alive and writes tried anew."""
    redis_client().delete(CLAIMED)
    for kind in DUTIES:
        heartbeats.beat_quietly(kind, at=now.timestamp())
    os.utime(Path(settings.LOCALNET_DIR) / "heartbeat", (now.timestamp(), now.timestamp()))
    assert watching.watch(now=now)


def becomes(what: Callable[[], Any], expected: Any) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while (found := what()) != expected:
        assert time.monotonic() < until, found
        time.sleep(0.02)


def mailed(mail_server: Any) -> list[str]:
    texts = [mail.get_content() for _, mail in mail_server.got]
    return [each for each in texts if TITLE in each]


def posted(receiver: Any) -> list[str]:
    bodies = [json.loads(body) for _, _, body in receiver.got]
    return [each["type"] for each in bodies if each["data"]["name"] == NAME]


def test_it_is_shown_mailed_and_posted_at_once_and_stored_later(
    mail_server: Any, receiver: Any, admin_client: Any, client: Any, settings: Any
) -> None:
    webhooks.create(None, name="pager", url=receiver.url)
    start = timezone.now()
    with read_only_database():
        for after in (0, 15, 30):
            watch(start + timedelta(seconds=after))
        becomes(lambda: posted(receiver), ["alarm.opened"])
        becomes(lambda: len(mailed(mail_server)), 1)
        home = admin_client.get("/admin/").content.decode()
        assert f"{TITLE}</h3>" in home and "it is read-only: nothing new is stored" in home
        assert client.get("/readyz").json()["status"] == "degraded"
        token = {"Authorization": f"Bearer {settings.METRICS_TOKEN}"}
        metrics = client.get("/metrics", headers=token).content.decode()
        assert f'tidemark_alarms_open{{alarm="{NAME}",severity="critical"}} 1.0' in metrics
        assert not Alarm.objects.exists()

    watch(start + timedelta(seconds=45))
    alarm = Alarm.objects.get(name=NAME)
    assert (alarm.began_at, alarm.opened_at) == (start, start + timedelta(seconds=15))
    event = Event.objects.get(kind="alarm.opened", data__name=NAME)
    assert event.data["alarmId"] == alarm.pk
    states = Delivery.objects.filter(event=event).values_list("state", flat=True)
    assert list(states) == ["delivered", "delivered"]

    watch(start + timedelta(seconds=60))
    assert Alarm.objects.get(name=NAME).closed_at is not None
    deliver_events()
    becomes(lambda: posted(receiver), ["alarm.opened", "alarm.closed"])
    becomes(lambda: len(mailed(mail_server)), 2)


@pytest.mark.usefixtures("own_redis")
def test_a_redis_that_takes_no_writes_either_does_not_silence_it(
    mail_server: Any, settings: Any
) -> None:
    start = timezone.now()
    with redis.Redis.from_url(settings.REDIS_URL) as full, read_only_database():
        watch(start)
        full.config_set("maxmemory", "1")
        for after in (15, 30):
            now = start + timedelta(seconds=after)
            assert watching.watch(now=now)
        becomes(lambda: len(mailed(mail_server)), 1)
        assert held_alarms.has_own()
        full.config_set("maxmemory", "0")
    watch(start + timedelta(seconds=45))
    assert Alarm.objects.get(name=NAME).opened_at == start + timedelta(seconds=15)
    assert not held_alarms.has_own()


def test_one_that_cannot_be_reached_is_mailed(
    mail_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = timezone.now()
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nonexistent")
    for after in (0, 15):
        watch(start + timedelta(seconds=after))
    becomes(lambda: len(mailed(mail_server)), 1)
    assert "does not answer" in mail_server.got[0][1].get_content()
    monkeypatch.undo()
    watch(start + timedelta(seconds=30))
    assert Alarm.objects.get(name=NAME).opened_at == start + timedelta(seconds=15)


def test_a_full_disk_opens_it(mail_server: Any, client: Any) -> None:
    start = timezone.now()
    with full_database() as free_it:
        for after in (0, 15):
            watch(start + timedelta(seconds=after))
        alarm = Alarm.objects.get(name=NAME)
        assert "its disk is full" in alarm.text and alarm.closed_at is None
        free_it()
        for after in (30, 45):
            watch(start + timedelta(seconds=after))
    assert Alarm.objects.get(name=NAME).closed_at is not None
