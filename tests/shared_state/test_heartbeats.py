"""Heartbeats say that a process's work goes on, not only that it lives."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings

from shared_state import heartbeats
from shared_state.redis_client import NAMESPACE, client
from tests.patience import PATIENCE_SECONDS, wait

pytestmark = pytest.mark.usefixtures("empty_redis")

_START = """
import os, sys, time
sys.path[:0] = ["platform", "."]
import django
django.setup()
from shared_state import heartbeats
from shared_state.redis_client import NAMESPACE, client
from embedded.notify import progress
heartbeats.start("lander", by_progress=True)
"""
# One whose loop goes on until it is told to hang, though its threads live on.
_LOOP = """
import select
while not select.select([sys.stdin], [], [], 0.1)[0]:
    progress()
time.sleep(600)
"""


@contextlib.contextmanager
def looping() -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-c", _START + _LOOP]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def lander() -> tuple[int, int]:
    """How many make progress, and how many make none."""
    found = heartbeats.kinds(now=time.time()).get("lander")
    return (0, 0) if found is None else (found.alive, found.silent)


def stopped(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGSTOP)


def busy_for_ever(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("hang\n")
    process.stdin.flush()


@pytest.mark.parametrize("hang", [stopped, busy_for_ever])
def test_a_process_whose_loop_does_not_turn_is_silent(hang: Any) -> None:
    with looping() as process:
        wait(lambda: lander() == (1, 0), "(1, 0) alive and missing")
        hang(process)
        wait(lambda: lander() == (0, 1), "(0, 1) alive and missing")
        process.kill()
        process.wait()
        # There is none any more: it is missing, and does not hang.
        assert lander() == (0, 0)


def test_one_that_hangs_beside_one_that_works_is_seen() -> None:
    with looping() as hung, looping():
        wait(lambda: lander() == (2, 0), "(2, 0) alive and missing")
        stopped(hung)
        wait(lambda: lander() == (1, 1), "(1, 1) alive and missing")


@pytest.mark.usefixtures("own_redis")
def test_where_redis_takes_no_writes_heartbeats_are_not_known() -> None:
    heartbeats.beat("worker")
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        before = client.config_get("maxmemory")["maxmemory"]
        client.config_set("maxmemory", "1")
        try:
            with pytest.raises(redis.RedisError):
                heartbeats.kinds(now=time.time())
        finally:
            client.config_set("maxmemory", before)
    assert heartbeats.kinds(now=time.time())["worker"].alive == 1


def test_a_process_that_ends_in_order_is_not_hung() -> None:
    command = [sys.executable, "-c", _START + "progress(); sys.stdin.read()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    wait(lambda: lander() == (1, 0), "(1, 0) alive and missing")
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    later = heartbeats.kinds(now=time.time() + heartbeats.MISSING_SECONDS + 1)["lander"]
    assert (later.alive, later.silent) == (0, 0)
    assert os.getpid() != process.pid


_CELERY = ["-m", "celery", "--quiet", "--app", "config.celery_app"]
_WORKER = [*_CELERY, "worker", "--pool", "solo", "--queues", "of-this-test"]


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("ingest", [*_WORKER, "--hostname", "ingest@%h"]),
        pytest.param(
            "beat", [*_CELERY, "beat", "--pidfile=", "--schedule={}"], marks=pytest.mark.soak
        ),
        ("web", ["manage.py", "serve", "--host", "127.0.0.1", "--port", "0", "--workers", "2"]),
    ],
)
def test_what_ends_in_order_leaves_no_heartbeat(
    kind: str, command: list[str], tmp_path: Path
) -> None:
    """Its own machine would see that the process is gone; others must not take it for hung."""
    command = [each.format(tmp_path / "schedule") for each in command]

    def written() -> list[str]:
        fields = [each.decode() for each in client().hkeys(f"{NAMESPACE}heartbeats")]
        return [each for each in fields if each.startswith(f"{kind}|")]

    environment = {**os.environ, "PYTHONPATH": "platform:."}
    with subprocess.Popen([sys.executable, *command], env=environment) as process:
        try:
            wait(lambda: any(each.endswith(f"|{process.pid}") for each in written()), "its beat")
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()
    assert written() == []
