"""What holds over several processes: the limit, and an administrator's word."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from access.services import keys
from tests.patience import PATIENCE_SECONDS

_START = """
import os, sys, time
sys.path[:0] = ["platform", "."]
import django
from django.conf import settings
django.setup()
settings.DATABASES["default"]["NAME"] = sys.argv[1]
from datetime import UTC, datetime
from access import buckets, key_cache
from access.callers import Caller, Quota
from access.services import keys
print("ready", flush=True)
sys.stdin.readline()
"""

_RACE = """
from concurrent.futures import ThreadPoolExecutor
quota = Quota(float(sys.argv[2]), int(sys.argv[3]))
caller = Caller(987654, "t", 10, frozenset(), (), {"requests": quota})
plan = buckets.plan_of(caller, "requests")
end = time.time() + 1.5
def run(_):
    taken = 0
    while time.time() < end:
        taken += buckets.take(plan).allowed
    return taken
with ThreadPoolExecutor(100) as pool:
    print(sum(pool.map(run, range(100))), flush=True)
"""

_WATCH = """
passed_at = 0.0
while True:
    asked_at = time.time()
    caller = keys.identify(sys.argv[2], now=datetime.now(UTC))
    if caller.suspended:
        print(passed_at, flush=True)
        break
    if not passed_at:
        print("passed", flush=True)
    passed_at = asked_at
    if sys.argv[3] == "calls":
        began = time.monotonic()
        taken = buckets.take(buckets.plan_of(caller, "requests"))
        if taken.generation is not None:
            key_cache.confirm(taken.generation, began)
    time.sleep(0.01)
"""


def start(script: str, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", _START + script, connection.settings_dict["NAME"], *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.parametrize(
    ("rate", "burst"), [("50", "20"), pytest.param("1000", "400", marks=pytest.mark.soak)]
)
def test_two_processes_of_a_hundred_threads_share_one_limit(rate: str, burst: str) -> None:
    processes = [start(_RACE, rate, burst) for _ in range(2)]
    started = time.monotonic()
    for process in processes:
        go(process)
    totals = [int(process.communicate(timeout=PATIENCE_SECONDS)[0]) for process in processes]
    took = time.monotonic() - started
    assert sum(totals) <= int(burst) + float(rate) * took
    assert sum(totals) >= int(burst) * 0.5


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("traffic", ["calls", "no calls"])
def test_a_suspended_key_is_refused_in_another_process_within_two_seconds(
    issue: Callable[..., Any], traffic: str
) -> None:
    issued = issue(requests_per_second=100_000, requests_burst=100_000)
    other = start(_WATCH, issued.secret, traffic)
    go(other)
    assert other.stdout is not None and other.stdout.readline() == "passed\n"
    keys.suspend_key(issued.key.pk, now=timezone.now())
    suspended_at = time.time()
    passed_at = float(other.communicate(timeout=PATIENCE_SECONDS)[0])
    # No call that began later was let through, however slow this machine is.
    assert passed_at - suspended_at < 2.0
