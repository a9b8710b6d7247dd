"""A PostgreSQL of the machine's own and a PgBouncer before it, over TCP, for tests of an engine."""

import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import psutil
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


@dataclass
class Program:
    """A server's process, which can be killed and started again, or stand still."""

    folder: Path
    command: list[str | Path]
    answers: Callable[[], bool]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open_log(self.folder / "log") as log:
            self.process = start_server(
                self.command,
                folder=self.folder,
                owner=server_owner(self.folder),
                log=log,
                stop_signal=signal.SIGINT,
                environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            )
        ready = wait_until(self.answers, self.process, seconds=PATIENCE_SECONDS)
        assert ready, (self.folder / "log").read_text()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            stop_child(self.process, signal.SIGINT, signal.SIGQUIT)

    @contextmanager
    def away(self, signum: int = signal.SIGKILL) -> Iterator[None]:
        """Ended by the signal, and started again afterwards."""
        assert self.process is not None
        family = self._family()
        self.process.send_signal(signum)
        self.process.wait(PATIENCE_SECONDS)
        psutil.wait_procs(family, timeout=PATIENCE_SECONDS)
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """All of its processes stand still."""
        family = self._family()
        _each(family, psutil.Process.suspend)
        try:
            yield
        finally:
            _each(family, psutil.Process.resume)

    def _family(self) -> list[psutil.Process]:
        assert self.process is not None
        found = psutil.Process(self.process.pid)
        return [found, *found.children(recursive=True)]


def _each(family: list[psutil.Process], act: Callable[[psutil.Process], None]) -> None:
    for each in family:
        with suppress(psutil.NoSuchProcess):
            act(each)


@dataclass(frozen=True, slots=True)
class Engine:
    """A server by the address of a database in it, which is not there yet or belongs to a test."""

    port: int
    log: Path
    program: Program

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
def postgres(programs: Path, *flags: str, **settings: str) -> Iterator[Engine]:
    """A new cluster with the role and the database `tidemark`, ended and removed afterwards; the
    flags are those of initdb.
    """
    with _folder("postgres") as folder:
        owner, data = server_owner(folder), folder / "data"
        options = ["--auth=trust", "-E", "UTF8", "--locale=C", "-N", *flags]
        made = subprocess.run(
            [programs / "initdb", "-D", data, *options],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            **stepping_down(owner),
        )
        assert made.returncode == 0, made.stderr
        port = free_ports(1)[0]
        with _running(folder, _command(programs, data, port, settings), port) as program:
            with _connect(port, "postgres", user=_superuser(folder)) as connection:
                connection.execute(f"CREATE ROLE tidemark LOGIN CREATEDB PASSWORD '{PASSWORD}'")
                connection.execute("CREATE DATABASE tidemark OWNER tidemark")
            yield Engine(port, folder / "log", program)


@contextmanager
def standby(programs: Path, primary: Engine, **settings: str) -> Iterator[Engine]:
    """A hot standby with these settings, once it follows the server: what is written earlier is
    lost with the server.
    """
    with _folder("standby") as folder:
        owner, data = server_owner(folder), folder / "data"
        source = f"host=127.0.0.1 port={primary.port} user={_superuser(primary.log.parent)}"
        made = subprocess.run(
            [programs / "pg_basebackup", "-D", data, "-d", source, "-R", "--checkpoint=fast"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            **stepping_down(owner),
        )
        assert made.returncode == 0, made.stderr
        port = free_ports(1)[0]
        with _running(folder, _command(programs, data, port, settings), port) as program:
            with superuser(primary, "postgres") as server:
                assert program.process is not None
                follows = partial(_is_followed, server)
                assert wait_until(follows, program.process, seconds=PATIENCE_SECONDS)
            yield Engine(port, folder / "log", program)


def _is_followed(server: psycopg.Connection) -> bool:
    followers = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
    return server.execute(followers).fetchone() is not None


def _command(programs: Path, data: Path, port: int, settings: dict[str, str]) -> list[str | Path]:
    options = {
        "fsync": "off",
        "max_connections": "200",
        "max_locks_per_transaction": "1024",
        "unix_socket_directories": "",
        "listen_addresses": "127.0.0.1",
        **settings,
    }
    flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    return [programs / "postgres", "-D", data, "-p", str(port), *flags]


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
        with _running(folder, [program, str(file)], port) as running:
            yield Engine(port, folder / "log", running)


@contextmanager
def valkey(program: Path, **settings: str) -> Iterator[Engine]:
    """A Valkey that loses nothing, with its database 0."""
    with _folder("valkey") as folder:
        port = free_ports(1)[0]
        options = {"port": str(port), "bind": "127.0.0.1", "dir": str(folder)}
        options |= {"appendonly": "yes", "save": "", **settings}
        flags = [part for name, value in options.items() for part in (f"--{name}", value)]
        answers = partial(_accepts, port)
        with _running(folder, [program, *flags], port, answers) as running:
            yield Engine(port, folder / "log", running)


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    folder = Path(mkdtemp(prefix=f"tidemark-{name}-"))
    try:
        private_folder(folder, server_owner(folder))
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _running(
    folder: Path,
    command: list[str | Path],
    port: int,
    answers: Callable[[], bool] | None = None,
) -> Iterator[Program]:
    program = Program(folder, command, answers or partial(_listens, port))
    program.start()
    try:
        yield program
    finally:
        program.stop()


def _accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


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
