"""/readyz, home and alarms: one word on which processes are missing or hung, and why."""

import json
import os
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.utils import timezone

from embedded.run_state import ProgramState, RunStateFile
from operations.models import Alarm
from operations.readings.present import read
from operations.services import watching
from shared_state import heartbeats
from tests.readiness import keep_alive, readyz
from tests.unwritable_database import failing_disk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

KINDS = ("web", "fates", "worker", "ingest", "simulations", "follower", "lander", "beat")


def ready(client: Any) -> Any:
    return readyz(client)[1]


@pytest.fixture
def run_dir(tmp_path: Path, settings: Any) -> Path:
    """Where nothing runs yet but localnet."""
    settings.RUN_DIR, settings.LOCALNET_DIR = tmp_path, tmp_path / "localnet"
    settings.LOCALNET_DIR.mkdir()
    keep_alive((), localnet=settings.LOCALNET_DIR)
    return tmp_path


def test_missing_processes_are_named_and_calls_are_still_answered(client: Any) -> None:
    heartbeats.beat("worker")
    code, answer = readyz(client)
    assert code == 200 and answer["status"] == "degraded"
    found = answer["checks"]["processes"]
    assert not found["ok"] and found["why"].endswith(" missing")
    assert "restarts a process that ended" in found["remedy"]
    assert "worker" not in found["missing"] and {"beat", "lander"} <= set(found["missing"])
    assert found["watchedSecondsAgo"] is None
    watching.watch(now=timezone.now())
    assert ready(client)["checks"]["processes"]["watchedSecondsAgo"] < 60


def test_readiness_home_and_alarms_agree_on_what_hangs(
    client: Any, admin_client: Any, run_dir: Path
) -> None:
    keep_alive(KINDS)
    assert ready(client)["checks"]["processes"]["ok"]
    # This process is there, and its work as a lander stands still.
    at = time.time() - 5
    for _ in range(2):
        heartbeats.beat("lander", at=at)
    found = ready(client)["checks"]["processes"]
    assert (found["hung"], found["missing"], found["why"]) == (["lander"], [], "lander hung")
    home = " ".join(admin_client.get("/admin/").content.decode().split())
    assert "lander hung" in home and "restart it with its command in the Procfile" in home
    assert watching.watch_processes(now=timezone.now()) == {"lander"}
    alarm = Alarm.objects.get()
    assert (alarm.name, alarm.subject) == ("process_missing", "lander")
    assert alarm.opened_at is not None, "at once"
    hung = re.match(
        r"The lander process makes no progress \(last heartbeat (\d+) s ago\)", alarm.text
    )
    assert hung is not None and 5 <= int(hung[1]) <= round(time.time() - at)

    keep_alive(["lander"])
    assert ready(client)["checks"]["processes"]["ok"]
    now = timezone.now()
    for after in (0, 6):
        heartbeats.beat("lander", at=now.timestamp() + after)
        for kind in KINDS:
            heartbeats.beat(kind, at=now.timestamp() + after)
        at = now.timestamp() + after
        os.utime(run_dir / "localnet" / "heartbeat", (at, at))
        watching.watch_processes(now=now + timedelta(seconds=after))
    assert Alarm.objects.get().closed_at is not None


def test_what_the_supervisor_has_just_started_is_not_missing_yet(
    client: Any, run_dir: Path
) -> None:
    keep_alive(KINDS[:-1])
    run = RunStateFile(run_dir)
    run.write([ProgramState("beat", 7, "starting", 3.0, time.time(), 0)], [])
    assert ready(client)["checks"]["processes"]["ok"]
    run.write([ProgramState("beat", 7, "starting", 3.0, time.time(), 1)], [])
    assert ready(client)["checks"]["processes"]["missing"] == ["beat"], "it was started again"


def test_what_reports_progress_before_its_first_heartbeat_is_not_missing(
    client: Any, run_dir: Path
) -> None:
    """Of an earlier run there are heartbeats, and this one's are about to come."""
    now = time.time()
    keep_alive(KINDS[:-1])
    heartbeats.beat("beat", at=now - 700)
    run = RunStateFile(run_dir)
    run.write([ProgramState("beat", 7, "running", 0.2, now - 8, 0)], [])
    assert ready(client)["checks"]["processes"]["ok"]
    run.write([ProgramState("beat", 7, "running", 4.5, now - 8, 0)], [])
    assert ready(client)["checks"]["processes"]["missing"] == ["beat"], "it stopped before that"
    run.write([ProgramState("beat", 7, "running", 0.2, now - 90, 0)], [])
    assert ready(client)["checks"]["processes"]["missing"] == ["beat"], "it had its time"
    heartbeats.beat("beat", at=now - 6)
    run.write([ProgramState("beat", 7, "running", 0.2, now - 8, 0)], [])
    assert not ready(client)["checks"]["processes"]["ok"], "it was heard, and is no more"


def test_a_server_that_hangs_is_named(client: Any, run_dir: Path) -> None:
    keep_alive(KINDS)
    server = ProgramState("postgres", 7, "hung", 6.0, 0.0, 0)
    RunStateFile(run_dir).write([], [server])
    assert ready(client)["checks"]["processes"]["hung"] == ["postgres"]


@pytest.mark.usefixtures("own_redis")
def test_a_redis_that_takes_no_writes_is_named_and_processes_are_not_called_missing(
    client: Any, run_dir: Path, settings: Any
) -> None:
    keep_alive(KINDS)
    with redis.Redis.from_url(settings.REDIS_URL) as full:
        before = full.config_get("maxmemory")["maxmemory"]
        full.config_set("maxmemory", "1")
        try:
            code, answer = readyz(client)
            alone = read(timezone.now()).processes
            programs = [
                ProgramState(kind, 7, "running", 0.2, time.time(), 0)
                for kind in (*KINDS, "localnet")
                if kind != "lander"
            ]
            hung = ProgramState("lander", 8, "hung", 6.0, time.time(), 0)
            RunStateFile(run_dir).write([*programs, hung], [])
            supervised = ready(client)["checks"]["processes"]
        finally:
            full.config_set("maxmemory", before)
    assert code == 503
    checks = answer["checks"]
    assert checks["redis"]["cause"] == "redis_full" and "memory" in checks["redis"]["why"]
    assert "memory of Redis" in checks["redis"]["remedy"]
    assert checks["processes"]["missing"] is None and alone is None
    assert (supervised["hung"], supervised["missing"]) == (["lander"], [])


def test_a_full_disk_is_named(client: Any, settings: Any) -> None:
    settings.RUN_DIR = Path("/proc")  # a file system without room
    found = ready(client)["checks"]["disk"]
    assert not found["ok"] and found["freeBytes"] == 0
    assert found["why"].startswith("the disk is full") and found["remedy"]


def test_a_read_only_disk_is_named(client: Any, settings: Any) -> None:
    with failing_disk("64m") as disk:
        settings.RUN_DIR = disk.folder
        assert ready(client)["checks"]["disk"]["ok"]
        disk.fail()
        found = ready(client)["checks"]["disk"]
        assert not found["ok"] and "read-only" in found["why"] and found["remedy"]
        disk.repair()
        assert ready(client)["checks"]["disk"]["ok"]


def test_a_file_that_is_half_written_says_nothing(run_dir: Path, client: Any) -> None:
    keep_alive(KINDS)
    for text in ("", "{", json.dumps({"at": 0})):
        (run_dir / "processes.json").write_text(text)
        assert ready(client)["checks"]["processes"]["ok"]
