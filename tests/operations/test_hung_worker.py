"""A worker that is hung or missing: what home and the alarms say of it and of what follows."""

import re
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from embedded.run_state import ProgramState, RunStateFile
from ingest.follower_state import FollowerState, publish
from operations.models import Alarm, Sample
from operations.readings.processes import DUTIES
from operations.services.sampling import step_of
from shared_state import heartbeats
from tests.readiness import keep_alive
from tipping.models import TipBatch, TtlClass
from tipping.services import batches

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

WORKER, BEAT = 4_100_001, 4_100_002


def home(client: Any) -> str:
    return " ".join(client.get("/admin/").content.decode().split())


def problem(text: str, title: str) -> str:
    """What home shows of the problem."""
    found = text.partition('id="needs"')[2].partition("</section>")[0]
    assert f"{title}</h3>" in found
    return found.partition(f"{title}</h3>")[2].partition('<div class="tm-problem')[0]


def light(text: str, name: str) -> str:
    return text.partition(f'id="light-{name}"')[2].partition("</section>")[0]


@pytest.fixture
def run(settings: Any, tmp_path: Path) -> RunStateFile:
    """A supervisor whose worker hangs; the last sample of the worker is two minutes old."""
    settings.RUN_DIR, settings.LOCALNET_DIR = tmp_path, tmp_path
    keep_alive(DUTIES, localnet=tmp_path)
    heartbeats.beat("worker", at=time.time() - 9)
    now = time.time()
    publish(FollowerState(source="a", connected_since=1.0, heard_at=now))
    TtlClass.objects.all().delete()
    two_minutes = timezone.now() - timedelta(minutes=2)
    Sample.objects.create(at=step_of(two_minutes, 15), resolution=15)
    found = RunStateFile(tmp_path)
    found.write(programs(), [])
    return found


def programs(**worker: Any) -> list[ProgramState]:
    since = time.time() - 20
    hung = {"state": "hung", "silent_seconds": 9.0, "since": since, "restarts": 0, **worker}
    return [
        ProgramState("worker", WORKER, **hung),
        ProgramState("beat", BEAT, "running", 0.1, since, 0),
    ]


# --- what waits for the worker ---


def test_beat_that_is_alive_is_not_ended_for_a_worker_that_hangs(
    admin_client: Any, run: RunStateFile
) -> None:
    text = home(admin_client)
    assert f"kill -KILL {WORKER}" in problem(text, "A process is missing or hung")
    shown = problem(text, "Periodic tasks do not run")
    assert "Beat is alive; its tasks wait for the worker." in shown
    assert f"kill -KILL {WORKER}" in shown
    assert f"kill -KILL {BEAT}" not in text
    assert "The worker has not run for 2 min" in text

    now = timezone.now()
    alarm = Alarm.objects.create(
        name="clock_stopped", severity="critical", text="x", began_at=now, opened_at=now
    )
    page = admin_client.get(f"/admin/operations/alarm/{alarm.pk}/change/").content.decode()
    assert f"kill -KILL {WORKER}" in page and f"kill -KILL {BEAT}" not in page


def test_beat_that_hangs_itself_has_its_command(admin_client: Any, run: RunStateFile) -> None:
    heartbeats.beat("beat", at=time.time() - 9)
    text = home(admin_client)
    shown = problem(text, "Periodic tasks do not run")
    assert "Beat is alive" not in text
    assert f"kill -KILL {WORKER}" in shown and f"kill -KILL {BEAT}" in shown
    assert "The worker or beat has not run for 2 min" in text


# --- what follows from it ---


def test_a_class_without_addresses_follows_from_the_worker_and_is_not_callable(
    admin_client: Any, run: RunStateFile
) -> None:
    TtlClass.objects.create(ttl_seconds=900, window_seconds=60, batch_size=16, is_default=True)
    text = home(admin_client)
    assert "prepares, rotates and sweeps tip batches" in problem(
        text, "A process is missing or hung"
    )
    shown = problem(text, "A tip class is unavailable")
    assert "can be fetched. The cause: the worker is hung." in shown
    assert 'class="tm-light tm-is-bad" id="light-calling"' in text
    assert "No tip address of the class of 15 min can be fetched." in light(text, "calling")
    for name in ("addresses", "failures"):
        card = text.partition(f'id="card-{name}"')[2].partition("</section>")[0]
        assert "tip class is unavailable" in card

    keep_alive(["worker"])
    text = home(admin_client)
    assert "The cause" not in problem(text, "A tip class is unavailable")
    assert 'class="tm-light tm-is-bad" id="light-calling"' in text


def test_a_class_that_runs_dry_is_amber_under_callable(
    admin_client: Any, run: RunStateFile
) -> None:
    ttl_class = TtlClass.objects.create(
        ttl_seconds=900, window_seconds=60, batch_size=16, is_default=True
    )
    now = timezone.now()
    batches.prepare(ttl_class.pk, seed=b"s" * 32, now=now, keep=1)
    batches.rotate(ttl_class.pk, now=now, wait=True, force=True)
    text = home(admin_client)
    assert "The cause: the worker is hung." in problem(text, "A tip class runs dry")
    for name in ("calling", "landing"):
        assert f'class="tm-light tm-is-warning" id="light-{name}"' in text


def test_only_classes_with_unswept_batches_are_swept_by_a_button(
    admin_client: Any, run: RunStateFile
) -> None:
    now = timezone.now()
    classes = [
        TtlClass.objects.create(
            ttl_seconds=seconds, window_seconds=60, batch_size=16, is_default=seconds == 60
        )
        for seconds in (60, 900, 86_400)
    ]
    for ttl_class in classes[:2]:
        batches.prepare(ttl_class.pk, seed=b"s" * 32, now=now, keep=2)
        batches.rotate(ttl_class.pk, now=now, wait=True, force=True)
    batches.rotate(classes[1].pk, now=now, wait=True, force=True)
    closed = TipBatch.objects.get(state="closed")
    opened_at, ended = now - timedelta(hours=9), now - timedelta(hours=8)
    TipBatch.objects.filter(pk=closed.pk).update(
        opened_at=opened_at, window_ends_at=ended, closed_at=ended, expires_at=ended
    )
    shown = problem(home(admin_client), "Tips are not swept")
    assert "Not swept: 1 expired batch. The cause: the worker is hung." in shown
    assert shown.count("Sweep now") == 1 and 'value="sweep:15 min"' in shown


# --- what restarts did not help ---


def test_a_worker_that_was_restarted_in_vain_needs_more_than_another_restart(
    admin_client: Any, run: RunStateFile
) -> None:
    shown = problem(home(admin_client), "A process is missing or hung")
    assert "restarted" not in shown.partition("</li>")[0]
    assert "manage.py doctor</code>" not in shown
    run.write(programs(restarts=9, restarts_lately=4), [])
    shown = problem(home(admin_client), "A process is missing or hung")
    lately = r"It was restarted 4 times in the last 15 min, most recently \d+ s ago\."
    assert re.search(lately, shown)
    commands = ("manage.py doctor", "free -h", "df -h", f"kill -KILL {WORKER}")
    places = [shown.index(f"{each}") for each in commands]
    assert places == sorted(places), "the kill, which has not helped, is the last resort"
    assert "last lines on standard error" in shown and "memory and disk" in shown

    heartbeats.beat("beat", at=time.time() - 9)
    worker, beat = programs(restarts=9, restarts_lately=4)
    run.write([worker, replace(beat, restarts=1, restarts_lately=1)], [])
    shown = problem(home(admin_client), "Periodic tasks do not run")
    assert shown.count("manage.py doctor</code>") == 1, "once for both"

    run.write(programs(state="restarting", restarts=9, restarts_lately=4), [])
    shown = problem(home(admin_client), "A process is missing or hung")
    assert "manage.py doctor</code>" in shown and ">make run</code>" in shown
