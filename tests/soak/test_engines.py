"""Every statement of ledger, archive and tips on other PostgreSQLs than the embedded one, by the
tests of these areas; and the whole service there.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.clients.service import Service, running_service
from tests.engines import Engine, pgbouncer, pgbouncer_program, postgres, postgres_programs
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent
AREAS = ("tests/columns", "tests/rewind", "tests/historical", "tests/tipping")
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def server() -> Iterator[Engine]:
    with postgres(postgres_programs()) as engine:
        yield engine


@pytest.fixture(scope="module", params=["by itself", "pooled", "pooled, statements kept"])
def engine(request: pytest.FixtureRequest, server: Engine) -> Iterator[Engine]:
    if request.param == "by itself":
        yield server
        return
    program, version = pgbouncer_program()
    kept = request.param != "pooled"
    if kept and version < (1, 21):
        pytest.skip(f"PgBouncer {version[0]}.{version[1]} keeps no statements: 1.21 does")
    size = 200 if kept else 0
    more = f"max_prepared_statements = {size}" if version >= (1, 21) else ""
    with pgbouncer(program, server, more=more) as pooler:
        yield pooler


def test_every_statement_does_the_same(engine: Engine) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not soak", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *AREAS],
        cwd=ROOT,
        env={
            # With the settings' name pytest-django reads them before the tests choose the database,
            # with xdist's they take themselves for one of its workers.
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("TIDEMARK", "DJANGO_SETTINGS_MODULE", "PYTEST_XDIST"))
            },
            "TIDEMARK_TEST_DATABASE_URL": engine.url(),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def test_two_processes_on_one_session_get_their_own_rows(server: Engine) -> None:
    program, _ = pgbouncer_program()
    with pgbouncer(program, server, size=2) as pooler, Client(pooler) as one, Client(pooler) as two:
        one.ask("begin")
        assert one.ask("SELECT 1::bigint AS of_one") == "(1,)"
        assert two.ask("SELECT 2::bigint AS of_two") == "(2,)"
        one.ask("commit")
        sessions = set()
        for _ in range(20):
            assert two.ask("SELECT 2::bigint AS of_two") == "(2,)"
            assert one.ask("SELECT 1::bigint AS of_one") == "(1,)"
            sessions |= {who.ask("SELECT pg_backend_pid()") for who in (one, two)}
        assert len(sessions) <= 2, "they met on the same sessions"


def test_a_held_lock_is_one_s_alone_and_falls_with_its_process(server: Engine) -> None:
    program, _ = pgbouncer_program()
    with pgbouncer(program, server, size=4) as pooler, Client(pooler) as one, Client(pooler) as two:
        assert one.ask("lock") == "True"
        assert two.ask("lock") == "False"
        one.process.kill()
        one.process.wait()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while two.ask("lock") != "True":
            assert time.monotonic() < deadline


def test_the_whole_service_runs_behind_a_pooler(server: Engine, tmp_path: Path) -> None:
    program, _ = pgbouncer_program()
    with pgbouncer(program, server, size=20) as pooler:
        url = pooler.url()
        with running_service(DATABASE_URL=url, LOCALNET="true", STATEMENT_TIMEOUT_MS="14321") as up:
            reached: set[int] = set()

            def follows() -> bool:
                answer = call(up, "/historical", "getSlot")
                reached.update([answer["result"]] if "result" in answer else [])
                return len(reached) > 2

            until(follows)
            coverage = call(up, "/rewind", "getRewindCoverage")["result"]
            assert coverage["latestSlot"] > coverage["earliestSlot"]
            with psycopg.connect(url) as connection:
                shown = connection.execute("SHOW statement_timeout").fetchone()
            assert shown == ("14321ms",)
            refused = manage(up.environment, "backup", str(tmp_path / "backup"))
            assert refused.returncode == 1 and "which pg_dump and pg_restore cannot use" in (
                refused.stderr
            )
            accounts = tmp_path / "accounts"
            accounts.mkdir()
            account = {"lamports": 7, "data": ["", "base64"], "owner": "1" * 32, "space": 0}
            account |= {"executable": False, "rentEpoch": 0}
            pubkey = "So11111111111111111111111111111111111111112"
            (accounts / "one.json").write_text(json.dumps({"pubkey": pubkey, "account": account}))
            command = ("import_snapshot", str(accounts), "--slot", "1", "--genesis")
            done = manage(up.environment, *command, call(up, "/", "getGenesisHash")["result"])
            assert done.returncode == 0, done.stderr
        with psycopg.connect(server.url()) as connection:
            left = connection.execute(
                "SELECT count(*) FROM pg_class WHERE relname LIKE 'rewind_snapshot%'"
            ).fetchone()
        assert left == (0,)


def test_what_cannot_work_is_refused_at_the_start(server: Engine, tmp_path: Path) -> None:
    program, _ = pgbouncer_program()
    with pgbouncer(program, server, ignored="") as pooler:
        refused = start(pooler.url(), tmp_path)
        assert refused.returncode == 1
        assert "set ignore_startup_parameters = options in pgbouncer.ini" in refused.stderr
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    refused = start(server.url("narrow"), tmp_path)
    assert refused.returncode == 1
    assert "the database's encoding is LATIN1" in refused.stderr


def test_a_backup_of_it_is_restored_to_it(server: Engine, tmp_path: Path) -> None:
    """pg_dump and pg_restore of the embedded PostgreSQL, on an older one."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE of_backup")
        connection.execute("CREATE DATABASE of_restore")
    environment = {**os.environ, "TIDEMARK_RUN_DIR": str(tmp_path / "run"), "LOCALNET": "false"}
    environment["DATABASE_URL"] = server.url("of_backup")
    for command in (("migrate", "-v", "0"), ("backup", str(tmp_path / "backup"))):
        done = manage(environment, *command)
        assert done.returncode == 0, done.stderr
    environment["DATABASE_URL"] = server.url("of_restore")
    done = manage(environment, "restore", str(tmp_path / "backup"))
    assert done.returncode == 0, done.stderr


class Client:
    """A process that runs raw queries, a line each."""

    def __init__(self, engine: Engine) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CLIENT],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": engine.url()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        return self.process.stdout.readline().strip()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


_CLIENT = """
import os, sys
sys.path[:0] = [".", "platform"]
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django; django.setup()
from columns.advisory_locks import AdvisoryLock, HeldLock
from columns.raw_queries import fetch_one
from django.db import transaction
block, lock = transaction.atomic(), HeldLock(AdvisoryLock.FOLLOWER, 2)
for line in map(str.strip, sys.stdin):
    if line == "begin":
        answer = block.__enter__()
    elif line == "commit":
        answer = block.__exit__(None, None, None)
    elif line == "lock":
        answer = lock.take()
    else:
        answer = fetch_one(line)
    print(answer, flush=True)
"""


def start(url: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TIDEMARK_RUN_DIR": str(tmp_path / "run"), "LOCALNET": "false"}
    port = str(free_ports(1)[0])
    return manage({**environment, "DATABASE_URL": url, "PORT": port}, "run")


def manage(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    without = {name: value for name, value in environment.items() if name != "REDIS_URL"}
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=without,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def call(service: Service, path: str, method: str) -> dict[str, Any]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []}).encode()
    headers = {"Authorization": service.key, "Content-Type": "application/json"}
    request = urllib.request.Request(service.base_url + path, body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)
