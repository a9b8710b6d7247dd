"""The embedded servers: what a start gives, what a restart keeps, what a kill leaves."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from embedded.addresses import embedded_addresses, postgres_folder, short_name, valkey_folder
from embedded.postgres import PostgresFailed
from embedded.probing import Prober
from embedded.processes import running_in
from embedded.servers import (
    RunDirTaken,
    Server,
    Servers,
    ShortNameTaken,
    hold_run_dir,
    start_servers,
    stop_servers,
)
from tests.patience import wait

Start = Callable[..., Servers]
SHELF = Path(__file__).resolve().parent.parent.parent / "platform"


@pytest.fixture
def run_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-servers-"))
    yield folder / "run"
    shutil.rmtree(folder)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers that the test need not stop."""
    started: list[Servers] = []

    def start_and_remember(run_dir: Path, *, durable: bool = False) -> Servers:
        started.append(start_servers(run_dir, durable=durable))
        return started[-1]

    yield start_and_remember
    for servers in started:
        stop_servers(servers)


def write_something(run_dir: Path) -> None:
    addresses = embedded_addresses(run_dir)
    with psycopg.connect(addresses.database_url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('tide')")
    with redis.Redis.from_url(addresses.redis_url) as client:
        client.incr("written")


def words_kept(run_dir: Path) -> int:
    with psycopg.connect(embedded_addresses(run_dir).database_url) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def still_running(run_dir: Path) -> list[psutil.Process]:
    return [
        *running_in(postgres_folder(run_dir) / "data", "postgres"),
        *running_in(valkey_folder(run_dir), "valkey-server"),
    ]


def test_a_restart_keeps_what_was_written_and_a_stop_leaves_nothing_running(
    run_dir: Path,
) -> None:
    for times in (1, 2):
        servers = start_servers(run_dir)
        write_something(run_dir)
        assert words_kept(run_dir) == times
        with redis.Redis.from_url(embedded_addresses(run_dir).redis_url) as client:
            assert client.get("written") == str(times).encode()
        stop_servers(servers)
        assert still_running(run_dir) == []


def test_the_servers_listen_on_sockets_that_others_cannot_reach(
    used_run_dir: Path, start: Start
) -> None:
    start(used_run_dir)
    ports = [c for process in still_running(used_run_dir) for c in process.net_connections("inet")]
    assert [c for c in ports if c.status == psutil.CONN_LISTEN] == []
    for folder in (postgres_folder(used_run_dir), valkey_folder(used_run_dir)):
        assert folder.stat().st_mode & 0o077 == 0


def test_the_service_role_is_no_superuser(used_run_dir: Path, start: Start) -> None:
    start(used_run_dir)
    with psycopg.connect(embedded_addresses(used_run_dir).database_url) as connection:
        row = connection.execute(
            "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    assert row == ("tidemark", False)


def test_a_start_after_both_servers_were_killed_recovers_what_was_written(
    used_run_dir: Path, start: Start
) -> None:
    servers = start_servers(used_run_dir)
    write_something(used_run_dir)
    with psycopg.connect(embedded_addresses(used_run_dir).database_url) as connection:
        connection.execute("SET synchronous_commit = on")
        connection.execute("INSERT INTO kept VALUES ('and this to the disk')")
    for server in servers.running:
        server.process.kill()
        server.process.wait()
    start(used_run_dir, durable=True)
    assert words_kept(used_run_dir) == 2
    with redis.Redis.from_url(embedded_addresses(used_run_dir).redis_url) as client:
        assert client.get("written") == b"1"


def test_a_pid_file_whose_number_another_process_has_now_stops_no_start(
    used_run_dir: Path, start: Start
) -> None:
    owner = postgres_folder(used_run_dir).stat()
    stepping_down = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "60"], cwd="/", **stepping_down) as stranger:
        pid_file = postgres_folder(used_run_dir) / "data" / "postmaster.pid"
        pid_file.write_text(f"{stranger.pid}\n/somewhere\n0\n5432\n\n\n0 0\n")
        (postgres_folder(used_run_dir) / ".s.PGSQL.5432.lock").write_text(f"{stranger.pid}\n")
        start(used_run_dir)
        write_something(used_run_dir)
        assert stranger.poll() is None
        stranger.kill()


def test_the_servers_end_with_a_starter_that_was_killed_and_the_next_start_takes_over(
    used_run_dir: Path, start: Start
) -> None:
    code = (
        "import sys, time; from pathlib import Path;"
        "from embedded.servers import hold_run_dir, start_servers;"
        "d = Path(sys.argv[1]); lock = hold_run_dir(d); s = start_servers(d);"
        "print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(used_run_dir)],
        env={**os.environ, "PYTHONPATH": str(SHELF)},
        stdout=subprocess.PIPE,
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"ready\n"
        write_something(used_run_dir)
        with pytest.raises(RunDirTaken, match=f"in use by process {starter.pid}"):
            hold_run_dir(used_run_dir)
        starter.send_signal(signal.SIGKILL)
    with hold_run_dir(used_run_dir):
        start(used_run_dir)
        assert words_kept(used_run_dir) == 1


def test_a_run_directory_too_deep_for_a_socket_is_reached_by_its_short_name(
    run_dir: Path, start: Start
) -> None:
    deep = run_dir / ("very-" * 30 + "deep")
    servers = start(deep)
    assert short_name(deep).is_symlink()
    write_something(deep)
    assert words_kept(deep) == 1
    stop_servers(servers)
    assert not short_name(deep).is_symlink()


def test_a_short_name_that_someone_else_took_is_not_followed(run_dir: Path) -> None:
    deep = run_dir / ("other-" * 30 + "deep")
    short_name(deep).symlink_to("/nowhere")
    try:
        with pytest.raises(ShortNameTaken, match="not our link"):
            start_servers(deep, durable=False)
    finally:
        short_name(deep).unlink()
    assert still_running(deep) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")
def test_root_steps_down_even_where_that_account_cannot_go(run_dir: Path, start: Start) -> None:
    shut = run_dir.parent
    assert shut.stat().st_mode & 0o077 == 0, "the folder above is root's alone"
    start(run_dir)
    owners = {process.uids().effective for process in still_running(run_dir)}
    assert 0 not in owners and len(owners) == 1
    assert shut.stat().st_mode & 0o077 == 0, "no permission outside was changed"
    write_something(run_dir)
    assert words_kept(run_dir) == 1


def test_a_server_that_is_stopped_is_silent_and_one_that_recovers_is_not(
    used_run_dir: Path, start: Start
) -> None:
    servers = start(used_run_dir)
    prober = Prober(servers)
    prober.start()
    try:
        for server in servers.running:
            _stops_and_recovers(server, prober)
    finally:
        prober.stop()


def _stops_and_recovers(server: Server, prober: Prober) -> None:
    wait(lambda: prober.has_answered(server), f"{server.name} answers")
    assert server.answers() and prober.silent_seconds(server) == 0.0
    server.process.send_signal(signal.SIGSTOP)
    wait(lambda: prober.silent_seconds(server) > 1.0, f"{server.name} is silent")
    assert not server.answers() and not prober.is_hung(server), "it has its time"
    server.process.send_signal(signal.SIGCONT)
    wait(lambda: prober.silent_seconds(server) == 0.0, f"{server.name} answers again")


def test_a_server_that_refuses_answers(used_run_dir: Path, start: Start) -> None:
    servers = start(used_run_dir)
    postgres, valkey = servers.running
    addresses = embedded_addresses(used_run_dir)
    with redis.Redis.from_url(addresses.redis_url) as client:
        client.config_set("requirepass", "secret")
    assert valkey.answers()
    with contextlib.ExitStack() as sessions:
        for role in ("tidemark", "postgres"):  # a few are kept for the latter
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    sessions.enter_context(psycopg.connect(addresses.database_url, user=role))
        assert postgres.answers()


def test_a_foreign_postgres_folder_is_named_with_what_to_do(run_dir: Path, start: Start) -> None:
    folder = postgres_folder(run_dir)
    run_dir.mkdir()
    folder.write_text("mine")
    with pytest.raises(PostgresFailed, match=r"postgres is not a folder.* TIDEMARK_RUN_DIR"):
        start(run_dir)
    folder.unlink()
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "mine").write_text("mine")
    with pytest.raises(PostgresFailed, match=r"is not a PostgreSQL data folder: it has no PG_VERS"):
        start(run_dir)
    assert (folder / "data" / "mine").read_text() == "mine"
    (folder / "data" / "PG_VERSION").write_text("15\n")
    if os.geteuid() == 0:
        with pytest.raises(PostgresFailed, match=r"belongs to the account root, and PostgreSQL ru"):
            start(run_dir)
        for path in (folder, folder / "data"):
            shutil.chown(path, "postgres" if "postgres" in accounts() else "nobody")
    with pytest.raises(
        PostgresFailed, match=r"is of PostgreSQL 15, and the embedded one is \d\d\."
    ):
        start(run_dir)


def accounts() -> set[str]:
    return {each.pw_name for each in pwd.getpwall()}
