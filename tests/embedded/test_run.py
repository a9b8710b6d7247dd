"""manage.py run, end to end: a child process, real ports, real signals."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from config.running.ports import Port, hold_ports
from embedded.passwords import server_passwords
from embedded.run_state import read_run_state
from tests import forked_commands
from tests.clients.service import procfile_of
from tests.localnet_process import free_addresses
from tests.patience import PATIENCE_SECONDS
from tests.upstream.sample_blocks import json_file

ROOT = Path(__file__).resolve().parent.parent.parent
# Two web workers and one for tasks: the whole shape, at the least cost.
SMALL = {"WEB_WORKERS": "2", "WORKER_PROCESSES": "1"}


def kept_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}


@dataclass
class Run:
    """A run directory and the runs that were started in it; `localnet` are the ports of its
    localnet, by their settings.
    """

    folder: Path
    port: int
    localnet: dict[str, str]
    process: subprocess.Popen[str] | None = None

    def start(self, *programs: str) -> None:
        """With all programs of the Procfile, or those that are named."""
        options = ["--procfile", str(procfile_of(self.folder, programs))] if programs else []
        with (self.folder / "output").open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "run", *options],
                cwd=ROOT,
                env=self.environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        self.wait_until_it_answers()

    def refused(self, **settings: str) -> str:
        """What a run says that ends before it starts anything."""
        process = forked_commands.start(["run"], environment=self.environment(**settings))
        words = process.finish(PATIENCE_SECONDS)
        assert process.returncode != 0
        return words

    def environment(self, **settings: str) -> dict[str, str]:
        return {
            **kept_environment(),
            **SMALL,
            **self.localnet,
            **settings,
            "TIDEMARK_RUN_DIR": str(self.folder / "run"),
            "PORT": str(self.port),
        }

    def wait_until_it_answers(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        # Its greeting too: the web process of a killed run may answer for a moment longer.
        while "Tidemark listens" not in self.output() or self.get("/healthz") != 200:
            assert self.process.poll() is None and time.monotonic() < deadline, self.output()
            time.sleep(0.1)

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert self.process is not None and self.process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.1)

    def get(self, path: str) -> int:
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def localnet_listens(self) -> bool:
        address = ("127.0.0.1", int(self.localnet["LOCALNET_RPC_PORT"]))
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
            return True
        return False

    def output(self) -> str:
        return (self.folder / "output").read_text()

    def servers(self, name: str) -> list[psutil.Process]:
        """Those of its processes that are called so; others may end meanwhile."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.name() == name:
                    found.append(process)
        return found

    def processes(self) -> list[psutil.Process]:
        """Everything that belongs to this run directory, whoever its parent is."""
        run_dir, found = str(self.folder / "run"), []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = process.environ().get("TIDEMARK_RUN_DIR") == run_dir
                if ours or process.cwd().startswith(run_dir):
                    found.append(process)
        return [p for p in found if p.pid != os.getpid()]

    def named(self, name: str) -> list[psutil.Process]:
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if name in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def kill_all(self) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self.process is not None:
            self.process.wait()


@pytest.fixture
def run() -> Iterator[Run]:
    localnet = free_addresses()
    port = int(localnet.pop("PORT"))
    run = Run(Path(tempfile.mkdtemp(prefix="tidemark-run-")), port, localnet)
    yield run
    run.kill_all()
    shutil.rmtree(run.folder)


def test_a_run_is_whole_however_its_processes_end(run: Run) -> None:
    """One run directory from its first run to a stop: a start takes 14 s of CPU, with the two
    programs of the later ones half of it.
    """
    run.start()
    credentials = serves(run)
    nothing_of_it_is_open_to_others(run)
    a_second_one_says_so(run)
    ps_tells_its_programs_apart(run)
    what_dies_is_started_again(run)
    only_the_supervisor_is_killed(run)
    the_whole_tree_is_killed(run)
    assert json.loads((run.folder / "run" / "credentials.json").read_text()) == credentials
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(timeout=PATIENCE_SECONDS) == 0
    assert run.processes() == []
    assert all(secret in run.output() for secret in credentials["api_keys"].values())


def nothing_of_it_is_open_to_others(run: Run) -> None:
    """No file for other accounts, and no password of a server where others or a log's readers see
    it.
    """
    run_dir = run.folder / "run"
    for path in [run_dir, *run_dir.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            assert stat.S_ISLNK(status.st_mode) or status.st_mode & 0o077 == 0, path
    passwords = server_passwords(run_dir)
    seen = [run.output(), *(log.read_text() for log in run_dir.glob("*/*.log"))]
    for process in run.processes():
        with contextlib.suppress(psutil.Error):
            seen += [*process.cmdline(), *process.environ().values()]
    for secret in (passwords.superuser, passwords.database, passwords.redis):
        assert not any(secret in text for text in seen)


def serves(run: Run) -> dict[str, Any]:
    """It answers; the credentials that it wrote."""
    assert run.get("/readyz") == 200
    assert run.get("/admin/login/") == 200
    path = run.folder / "run" / "credentials.json"
    assert path.stat().st_mode & 0o777 == 0o600
    credentials: dict[str, Any] = json.loads(path.read_text())
    assert credentials["base_url"] == f"http://127.0.0.1:{run.port}"
    assert f"localnet  http://127.0.0.1:{run.localnet['LOCALNET_RPC_PORT']}" in run.output()
    assert set(credentials["admin"]) == {"url", "username", "password"}
    assert set(credentials["api_keys"]) == {"basic", "ultra", "elite", "epic"}
    assert all(credentials["api_keys"].values())
    return credentials


def a_second_one_says_so(run: Run) -> None:
    """And leaves the first alone."""
    assert run.process is not None
    assert f"is in use by process {run.process.pid}" in run.refused()
    assert run.get("/readyz") == 200


def ps_tells_its_programs_apart(run: Run) -> None:
    """By the commands that another supervisor would execute."""
    assert run.process is not None
    pids: dict[str, int] = {}

    def have_started() -> bool:
        states = read_run_state(run.folder / "run")
        programs = {} if states is None else states.programs
        pids.update({name: each.pid for name, each in programs.items() if each.pid is not None})
        return len(pids) == 8

    run.until(have_started)
    for name, pid in pids.items():
        program = psutil.Process(pid)
        assert program.ppid() == run.process.pid
        assert program.environ()["TIDEMARK_PROCESS"] == name
    assert psutil.Process(pids["web"]).cmdline()[1:3] == ["manage.py", "serve"]
    assert psutil.Process(pids["beat"]).cmdline()[-2:] == ["beat", "--pidfile="]


def what_dies_is_started_again(run: Run) -> None:
    assert run.process is not None
    (web,) = [p for p in run.named("manage.py serve") if p.ppid() == run.process.pid]
    (server,) = run.servers("valkey-server")
    (localnet,) = run.named("manage.py localnet")
    web.kill()
    server.kill()
    localnet.kill()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while run.get("/readyz") != 200 or psutil.pid_exists(web.pid) or not run.localnet_listens():
        assert time.monotonic() < deadline, run.output()
        time.sleep(0.1)
    assert "web ended (signal SIGKILL); starts again" in run.output()
    assert "valkey ended (signal SIGKILL); starts again" in run.output()
    assert "localnet ended (signal SIGKILL); starts again" in run.output()


def only_the_supervisor_is_killed(run: Run) -> None:
    """The next run takes its place."""
    assert run.process is not None
    run.process.kill()
    run.process.wait()
    run.start("web", "localnet")
    assert [p.pid for p in run.named("manage.py run")] == [run.process.pid]
    assert len(run.servers("valkey-server")) == 1


def the_whole_tree_is_killed(run: Run) -> None:
    run.kill_all()
    run.start("web", "localnet")


def test_a_port_in_use_is_named_before_anything_starts(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", run.port))
        taken.listen()
        words = run.refused()
    assert f"cannot listen on 127.0.0.1 port {run.port}" in words
    assert re.search(r": PORT=\d+ make run$", words.strip())
    assert not (run.folder / "run" / "postgres").exists()


@pytest.mark.parametrize(
    ("setting", "offset", "kind"),
    [
        ("LOCALNET_RPC_PORT", 1, socket.SOCK_STREAM),
        ("LOCALNET_GEYSER_PORT", 0, socket.SOCK_STREAM),
        ("LOCALNET_TPU_PORT", 0, socket.SOCK_DGRAM),
    ],
)
def test_a_port_of_localnets_in_use_is_named_with_its_setting(
    run: Run, setting: str, offset: int, kind: socket.SocketKind
) -> None:
    port = int(run.localnet[setting]) + offset
    with socket.socket(type=kind) as taken:
        taken.bind(("127.0.0.1", port))
        if kind is socket.SOCK_STREAM:
            taken.listen()
        words = run.refused()
    name = f"{setting} + 1" if offset else setting
    assert f"cannot listen on 127.0.0.1 port {port} ({name}): Address already in use" in words
    assert f"{setting}=" in words and "make run" in words
    assert not (run.folder / "run" / "postgres").exists()


def test_ports_of_a_run_that_does_not_listen_yet_are_taken(run: Run) -> None:
    """As of one that started a moment ago, in another tree."""
    with hold_ports([Port("127.0.0.1", run.port, ("HOST", "PORT"))]):
        words = run.refused()
    assert f"cannot listen on 127.0.0.1 port {run.port} (PORT): Address already in use" in words
    assert not (run.folder / "run" / "postgres").exists()


def test_all_ports_of_another_installation_are_named_with_one_command(run: Run) -> None:
    """As in a second clone on one machine: the command that is shown starts."""
    wanted = [run.port, run.port + 1]
    wanted += [int(run.localnet[f"LOCALNET_{name}_PORT"]) for name in ("RPC", "GEYSER")]
    with ExitStack() as stack:
        for port in wanted:
            taken = stack.enter_context(socket.socket())
            taken.bind(("127.0.0.1", port))
            taken.listen()
        words = run.refused()
        for port in wanted:
            assert f"127.0.0.1 port {port} (" in words
        chosen = dict(re.findall(r"(\w+_PORT|PORT)=(\d+)", words.rpartition("choose another:")[2]))
        assert set(chosen) == {"PORT", "LOCALNET_RPC_PORT", "LOCALNET_GEYSER_PORT"}
        run.port = int(chosen.pop("PORT"))
        run.localnet |= chosen
        # It passes the ports, and ends at the next thing that is wrong.
        url = "postgresql://127.0.0.1:1/none"
        assert "the database does not answer" in run.refused(DATABASE_URL=url)


def test_a_run_directory_that_cannot_be_used_is_named_with_what_to_do(run: Run) -> None:
    (run.folder / "run" / "lock").mkdir(parents=True)
    words = run.refused().strip()
    path = run.folder / "run"
    assert words.endswith(
        f"cannot use the run directory {path}: Is a directory ({path}/lock). Make it writable for"
        " this account, or name another folder by TIDEMARK_RUN_DIR"
    )


def test_two_settings_with_one_port_are_both_named(run: Run) -> None:
    words = run.refused(LOCALNET_GEYSER_PORT=str(run.port))
    assert f"PORT and LOCALNET_GEYSER_PORT are both port {run.port}" in words
    words = run.refused(GRPC_PORT=str(run.port))
    assert f"PORT and GRPC_PORT are both port {run.port}" in words


def test_an_address_of_localnets_that_is_not_ours_is_named(run: Run) -> None:
    words = run.refused(LOCALNET_HOST="192.0.2.77")
    assert "LOCALNET_HOST='192.0.2.77': expected an address of this machine" in words


@pytest.mark.soak
def test_without_localnet_nothing_is_followed_nor_mixed_into_what_was_imported(run: Run) -> None:
    localnet, programs = run.localnet, ("web", "localnet", "follower", "lander")
    run.localnet = {**localnet, "LOCALNET": "false"}
    with socket.socket() as taken:
        # Its ports are nobody's business then.
        taken.bind(("127.0.0.1", int(localnet["LOCALNET_RPC_PORT"])))
        taken.listen()
        run.start(*programs)
    assert run.named("manage.py localnet") == []
    assert run.named("manage.py follow") == []
    assert "localnet is not started: no chain is followed" in run.output()
    assert "follower is not started: no chain is followed" in run.output()
    assert "WebSocket" not in run.output()

    block = run.folder / "103.json"
    block.write_bytes(json_file())
    forked_commands.run(
        ["import_blocks", str(block), "--genesis", "mainnet"],
        environment={**kept_environment(), "TIDEMARK_RUN_DIR": str(run.folder / "run")},
    ).check_returncode()
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(timeout=PATIENCE_SECONDS) == 0
    run.localnet = localnet
    run.start(*programs)
    assert "follower is not started: the ledger holds imported blocks" in run.output()
    assert run.localnet_listens()
    assert run.named("manage.py follow") == []
