"""A PostgreSQL of the machine's own and a PgBouncer before it, over TCP, for tests of an engine."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest

from embedded.owner import private_folder, server_owner, stepping_down
from embedded.processes import open_log, start_server, stop_child, wait_until
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS

PASSWORD = "of-a-test"
# PgBouncer's own: prepared statements of a client, as its transaction pools must have them.
_POOL = """\
[databases]
* = host=127.0.0.1 port={server} user=tidemark password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 500
ignore_startup_parameters = {ignored}
pidfile =
admin_users = tidemark
{more}
"""


@dataclass(frozen=True, slots=True)
class Engine:
    """A server by the address of a database in it, which is not there yet or belongs to a test."""

    port: int
    log: Path

    def url(self, name: str = "tidemark") -> str:
        return f"postgresql://tidemark:{PASSWORD}@127.0.0.1:{self.port}/{name}"


def postgres_programs(version: int = 15) -> Path:
    """The folder of a PostgreSQL that the system's packages installed. Skips the test."""
    folder = Path(f"/usr/lib/postgresql/{version}/bin")
    if not (folder / "initdb").exists():
        pytest.skip(f"needs PostgreSQL {version}: apt-get install postgresql-{version}")
    return folder


def pgbouncer_program() -> tuple[str, tuple[int, ...]]:
    """PgBouncer on PATH, and its version. Skips the test."""
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip("needs PgBouncer: apt-get install pgbouncer")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    assert found is not None, said
    return program, (int(found[1]), int(found[2]))


@contextmanager
def postgres(programs: Path, **settings: str) -> Iterator[Engine]:
    """A new cluster with the role and the database `tidemark`, ended and removed afterwards."""
    with _folder("postgres") as folder:
        owner, data = server_owner(folder), folder / "data"
        made = subprocess.run(
            [programs / "initdb", "-D", data, "--auth=trust", "-E", "UTF8", "--locale=C", "-N"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            **stepping_down(owner),
        )
        assert made.returncode == 0, made.stderr
        options = {
            "fsync": "off",
            "max_connections": "200",
            "max_locks_per_transaction": "1024",
            "unix_socket_directories": "",
            "listen_addresses": "127.0.0.1",
            **settings,
        }
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        port = free_ports(1)[0]
        with _running(folder, [programs / "postgres", "-D", data, "-p", str(port), *flags], port):
            with _connect(port, "postgres", user=_superuser(folder)) as connection:
                connection.execute(f"CREATE ROLE tidemark LOGIN CREATEDB PASSWORD '{PASSWORD}'")
                connection.execute("CREATE DATABASE tidemark OWNER tidemark")
            yield Engine(port, folder / "log")


@contextmanager
def pgbouncer(
    program: str,
    server: Engine,
    *,
    mode: str = "transaction",
    size: int = 20,
    ignored: str = "options",
    more: str = "",
) -> Iterator[Engine]:
    """A pooler of every database of the server, whatever their names."""
    with _folder("pgbouncer") as folder:
        port = free_ports(1)[0]
        file = folder / "pgbouncer.ini"
        text = _POOL.format(
            server=server.port,
            password=PASSWORD,
            port=port,
            mode=mode,
            size=size,
            ignored=ignored,
            more=more,
        )
        file.write_text(text)
        file.chmod(0o644)
        with _running(folder, [program, str(file)], port):
            yield Engine(port, folder / "log")


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    folder = Path(mkdtemp(prefix=f"tidemark-{name}-"))
    try:
        private_folder(folder, server_owner(folder))
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _running(folder: Path, command: list[str | Path], port: int) -> Iterator[None]:
    with ExitStack() as stack:
        log = stack.enter_context(open_log(folder / "log"))
        process = start_server(
            command,
            folder=folder,
            owner=server_owner(folder),
            log=log,
            stop_signal=signal.SIGINT,
            environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
        )
        stack.callback(stop_child, process, signal.SIGINT, signal.SIGQUIT)
        ready = wait_until(lambda: _listens(port), process, seconds=PATIENCE_SECONDS)
        assert ready, (folder / "log").read_text()
        yield


def _listens(port: int) -> bool:
    try:
        _connect(port, "postgres", user="nobody").close()
    except psycopg.OperationalError as error:
        return "role" in str(error) or "password" in str(error)
    return True


def superuser(server: Engine, name: str) -> psycopg.Connection:
    """A connection to one of its databases as the role that owns the server."""
    return _connect(server.port, name, user=_superuser(server.log.parent))


def _connect(port: int, name: str, *, user: str) -> psycopg.Connection:
    return psycopg.connect(
        host="127.0.0.1", port=port, dbname=name, user=user, connect_timeout=5, autocommit=True
    )


def _superuser(folder: Path) -> str:
    return folder.owner()
