"""Nothing of a run directory is open to others: no file, no server without its password."""

import contextlib
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from embedded.addresses import embedded_addresses, postgres_folder, valkey_folder
from embedded.folders import SharedFolder, close_run_dir
from embedded.passwords import server_passwords
from embedded.processes import running_in
from embedded.servers import Servers, hold_run_dir, start_servers, stop_servers

ROOT = Path(__file__).resolve().parent.parent.parent
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
TRUSTING = "local all all trust\nhost all all 127.0.0.1/32 trust\n"


@pytest.fixture
def run_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-closed-"))
    yield folder / "run"
    shutil.rmtree(folder)


@contextlib.contextmanager
def started(run_dir: Path) -> Iterator[Servers]:
    with hold_run_dir(run_dir):
        servers = start_servers(run_dir, durable=False)
        try:
            yield servers
        finally:
            stop_servers(servers)


@pytest.fixture(scope="module")
def running() -> Iterator[Path]:
    """The run directory of servers that were started for the first time, by a lax umask."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-closed-"))
    before = os.umask(0)
    try:
        with started(folder / "run"):
            os.umask(before)
            yield folder / "run"
    finally:
        os.umask(before)
        shutil.rmtree(folder)


def open_paths(run_dir: Path) -> list[str]:
    """What others may do anything with, by the mode alone."""
    found = []
    for path in [run_dir, *run_dir.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o077:
                found.append(f"{stat.filemode(status.st_mode)} {path}")
    return found


def secrets_of(run_dir: Path) -> list[str]:
    passwords = server_passwords(run_dir)
    return [
        (run_dir / "servers_secret").read_text(),
        passwords.superuser,
        passwords.database,
        passwords.redis,
    ]


def without_password(url: str) -> str:
    return url.replace(str(urlsplit(url).password), "")


def test_no_file_of_running_servers_is_open_to_others_whatever_the_umask(running: Path) -> None:
    assert open_paths(running) == []


def test_what_an_earlier_version_left_open_is_closed_at_the_start(run_dir: Path) -> None:
    outside = run_dir.parent / "outside"
    outside.write_text("another's")
    outside.chmod(0o644)
    for name in ("secret_key", "credentials.json", "beat-schedule", "localnet/ledger", "mail/1"):
        (run_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (run_dir / name).write_text("kept")
        (run_dir / name).chmod(0o666)
    (run_dir / "mail" / "link").symlink_to(outside)
    (run_dir / "notes").write_text("a file of the operator's")
    (run_dir / "notes").chmod(0o644)
    run_dir.chmod(0o755)
    with hold_run_dir(run_dir):
        assert open_paths(run_dir) == [f"-rw-r--r-- {run_dir / 'notes'}"]
        assert stat.S_IMODE(outside.stat().st_mode) == 0o644
        assert (run_dir / "secret_key").read_text() == "kept"


def test_a_folder_of_everybody_is_no_run_directory(run_dir: Path) -> None:
    run_dir.mkdir()
    run_dir.chmod(0o1777)
    with pytest.raises(SharedFolder, match="TIDEMARK_RUN_DIR"):
        close_run_dir(run_dir)
    assert stat.S_IMODE(run_dir.stat().st_mode) == 0o1777


def test_neither_server_lets_anybody_in_without_the_password(running: Path) -> None:
    addresses = embedded_addresses(running)
    for role in ("tidemark", "postgres"):
        for password in ("", "wrong", server_passwords(running).redis):
            url = without_password(addresses.database_url).replace("tidemark:@", f"{role}@")
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(url, password=password)
    bare = without_password(addresses.redis_url).replace(":@", "")
    with redis.Redis.from_url(bare) as client:
        with pytest.raises(redis.AuthenticationError):
            client.ping()
        with pytest.raises(redis.AuthenticationError):
            client.auth("wrong")
    with psycopg.connect(addresses.database_url) as connection:
        connection.execute("SELECT 1")
    with redis.Redis.from_url(addresses.redis_url) as client:
        assert client.ping()


# Becomes another account once everything is imported: it may be unable to reach this Python.
BECOME = """
import codecs, ctypes, os, sys
from pathlib import Path
import psycopg, redis
from embedded.servers import hold_run_dir, start_servers, stop_servers
from tests.embedded.test_closed import open_paths
codecs.lookup("ascii"), codecs.lookup("idna")
def become(uid, gid):
    os.setgroups([]); os.setgid(gid); os.setuid(uid)
    ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: /proc/self is its own again
"""


def another_account(code: str, *arguments: object, cwd: Path = ROOT) -> "subprocess.Popen[str]":
    environment = {"PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}", "PATH": os.defpath, "HOME": "/"}
    return subprocess.Popen(
        [sys.executable, "-c", BECOME + code, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@AS_ROOT
def test_the_servers_own_account_is_not_let_in_for_that(running: Path) -> None:
    folder = postgres_folder(running)
    owner = folder.stat()
    assert owner.st_uid != 0
    code = """
become(int(sys.argv[1]), int(sys.argv[2]))
try:
    psycopg.connect("host=/proc/self/cwd user=postgres port=5432")
except psycopg.OperationalError as error:
    print(error)
"""
    process = another_account(code, owner.st_uid, owner.st_gid, cwd=folder)
    output, _ = process.communicate()
    assert "no password supplied" in output, output


def test_no_password_stands_in_a_command_line_an_environment_or_a_log(running: Path) -> None:
    processes = [
        *running_in(postgres_folder(running) / "data", "postgres"),
        *running_in(valkey_folder(running), "valkey-server"),
    ]
    assert len(processes) > 2
    seen = [" ".join([*p.cmdline(), *p.environ().values()]) for p in processes]
    seen += [log.read_text() for log in running.glob("*/*.log")]
    assert len(seen) > len(processes)
    for secret in secrets_of(running):
        assert not any(secret in text for text in seen)


def make_trusting(run_dir: Path) -> None:
    """What versions before passwords left in a run directory."""
    data = postgres_folder(run_dir) / "data"
    (data / "pg_hba.conf").write_text(TRUSTING)
    (data / "tidemark_password_set").unlink()
    (run_dir / "servers_secret").unlink()


@pytest.mark.parametrize(
    "lost",
    [
        "everything",
        pytest.param("the secret", marks=pytest.mark.soak),
        pytest.param("the lock", marks=pytest.mark.soak),
    ],
)
def test_data_of_versions_that_trusted_everybody_is_kept_and_closed(
    used_run_dir: Path, lost: str
) -> None:
    with hold_run_dir(used_run_dir):
        servers = start_servers(used_run_dir)
        addresses = embedded_addresses(used_run_dir)
        with psycopg.connect(addresses.database_url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 'tide' AS word")
        with redis.Redis.from_url(addresses.redis_url) as client:
            client.set("written", "tide")
        stop_servers(servers)
        if lost == "everything":
            make_trusting(used_run_dir)
        elif lost == "the secret":
            (used_run_dir / "servers_secret").unlink()
        else:
            (postgres_folder(used_run_dir) / "data" / "pg_hba.conf").write_text(TRUSTING)
        used_run_dir.chmod(0o755)
    with hold_run_dir(used_run_dir):
        servers = start_servers(used_run_dir)
        try:
            renewed = embedded_addresses(used_run_dir)
            assert (renewed == addresses) is (lost == "the lock")
            with psycopg.connect(renewed.database_url) as connection:
                assert connection.execute("SELECT word FROM kept").fetchone() == ("tide",)
            with redis.Redis.from_url(renewed.redis_url) as client:
                assert client.get("written") == b"tide"
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(without_password(renewed.database_url))
        finally:
            stop_servers(servers)
    assert open_paths(used_run_dir) == []


@AS_ROOT
def test_an_account_that_is_not_root_runs_it_for_itself_alone() -> None:
    nobody = pwd.getpwnam("nobody")
    code = """
become(int(sys.argv[2]), int(sys.argv[3]))
os.umask(0)
run_dir = Path(sys.argv[1]) / "run"
lock = hold_run_dir(run_dir)
servers = start_servers(run_dir, durable=False)
print(open_paths(run_dir), flush=True)
sys.stdin.read()
stop_servers(servers)
"""
    with tempfile.TemporaryDirectory(prefix="tidemark-nobody-") as folder:
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        Path(folder).chmod(0o755)
        with another_account(code, folder, nobody.pw_uid, nobody.pw_gid) as process:
            assert process.stdout is not None and process.stdin is not None
            if (said := process.stdout.readline()) != "[]\n":
                said += process.stdout.read()
                if "NoPrograms" in said:
                    pytest.skip("nobody cannot reach the servers' programs here")
                raise AssertionError(said)
            look = subprocess.run(
                ["/bin/ls", f"{folder}/run"],
                user=nobody.pw_uid - 1,
                group=nobody.pw_gid - 1,
                extra_groups=[],
                cwd="/",
                capture_output=True,
                text=True,
                check=False,
            )
            assert "Permission denied" in look.stderr
            process.stdin.close()
        assert process.returncode == 0
