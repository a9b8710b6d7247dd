"""manage.py follow as a process: one at a time, ended by SIGTERM; and what /readyz says of it."""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from ingest.follower_state import FollowerState, publish
from ingest.source_lock import SecondFollower, SourceLock
from tests.localnet_process import ROOT, free_ports

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def start_follower(**environment: str) -> "subprocess.Popen[str]":
    from django.db import connection

    database = connection.settings_dict
    url = f"postgresql://{database['USER']}@/{database['NAME']}?host={database['HOST']}"
    return subprocess.Popen(
        [sys.executable, "manage.py", "follow"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_it_ends_quickly_and_cleanly_while_nobody_answers() -> None:
    ports = free_ports(2)
    process = start_follower(
        UPSTREAM_GEYSER_URL=f"http://127.0.0.1:{ports[0]}",
        UPSTREAM_RPC_URL=f"http://127.0.0.1:{ports[1]}",
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert f"127.0.0.1:{ports[1]}" in line and "Connection refused" in line
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0, process.stdout.read()
    assert time.monotonic() - began < 5


def test_a_second_follower_waits_for_the_end_of_the_first() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    first = SourceLock(url)
    assert first.take()
    process = start_follower(UPSTREAM_GEYSER_URL=url)
    assert process.stdout is not None
    assert "another process follows already" in process.stdout.readline()
    first.let_go()
    assert "refused" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_nothing_to_follow_is_said() -> None:
    process = start_follower(LOCALNET="false")
    text, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "nothing to follow: set UPSTREAM_GEYSER_URL or UPSTREAM_RPC_URL" in text


def test_a_lock_that_someone_else_took_meanwhile_is_told() -> None:
    ours, theirs = SourceLock("one source"), SourceLock("one source")
    assert ours.take() and not theirs.take()
    ours.let_go()  # as when the database restarts
    assert theirs.take()
    with pytest.raises(SecondFollower):
        ours.keep()
    theirs.let_go()
    ours.keep()
    ours.let_go()


def readyz(client: Any) -> tuple[int, dict[str, Any]]:
    answer = client.get("/readyz")
    return answer.status_code, json.loads(answer.content)["checks"]["stream"]


def test_readyz_says_how_far_the_stream_is(client: Any, settings: Any) -> None:
    assert readyz(client)[1]["following"] is None
    publish(
        FollowerState(
            source="stream of a",
            connected_since=time.time(),
            heard_at=time.time(),
            finalized_slot=120,
        )
    )
    status, found = readyz(client)
    assert status == 200
    assert (found["following"], found["finalizedSlot"], found["slotsBehind"]) == (
        "stream of a",
        120,
        120,
    )


def test_readyz_refuses_a_silent_stream_only_where_a_lag_is_set(client: Any, settings: Any) -> None:
    publish(FollowerState(source="stream of a", heard_at=time.time() - 100))
    assert readyz(client)[1]["ok"]
    settings.READY_MAX_LAG_SECONDS = 60
    status, found = readyz(client)
    assert status == 503
    assert not found["ok"] and found["why"].startswith("silent for 10")
