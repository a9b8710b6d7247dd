"""What is rehearsed before the application is forked, and what that leaves behind: nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from access import usage
from config.engine import is_migrated
from shared_state.redis_client import client
from tests.databases import this_database

ROOT = Path(__file__).resolve().parent.parent.parent

_REHEARSE = """
import json, logging, os, socket, stat, sys, threading
import django
django.setup()
logging.getLogger("config.rehearsal").setLevel(logging.DEBUG)
failures = []
class Failures(logging.Handler):
    def emit(self, record):
        failures.append(record.getMessage())
logging.getLogger("config.rehearsal").addHandler(Failures())
from config.loading import Loading
problem = Loading().problem()
from config.rehearsal import rehearse
def sockets():
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found += [number] * stat.S_ISSOCK(os.fstat(int(number)).st_mode)
        except OSError:
            pass
    return found
before = sockets()
rehearse()
threads = len(os.listdir("/proc/self/task"))
print(json.dumps([problem, failures, threads, len(sockets()) - len(before)]))
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_redis")
def test_the_rehearsal_runs_and_leaves_no_thread_connection_or_usage() -> None:
    usage.flush()  # what other tests counted in this process
    client().flushdb()
    environment = {
        **os.environ,
        "DATABASE_URL": this_database(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", _REHEARSE],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    problem, failures, threads, sockets = json.loads(done.stdout.splitlines()[-1])
    assert problem == ""
    assert failures == []
    assert threads == 1, "what has threads is not forked"
    assert sockets == 0, "a fork would speak on its parent's connection"
    kept = [bytes(key) for key in client().scan_iter("*")]
    assert not [key for key in kept if b"usage" in key]


@pytest.mark.django_db
def test_a_database_without_a_migration_is_not_up_to_date() -> None:
    assert is_migrated(), "the rehearsal of a second start would wait for the preparation"
    MigrationRecorder(connection).record_unapplied("access", "0001_initial")
    assert not is_migrated(), "a rehearsal would read tables that migrations lock"
