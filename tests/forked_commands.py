"""`manage.py` commands as forked processes, as `make run` starts its programs.

One process, for all workers, has loaded what they need, which takes two seconds of CPU. Each fork
reads the settings anew, from its own environment.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent

# Where that process listens.
ADDRESS = "TIDEMARK_TEST_FORKS"
_LARGEST_MESSAGE = 131_072
# The modules that read the environment as they are imported.
OF_THE_ENVIRONMENT = ("config.settings",)
# What modules set for native code as they are imported.
SET_AT_IMPORT = ("OPENBLAS_NUM_THREADS", "RUST_BACKTRACE")
_LOADED = (
    "config.management.commands.backup",
    "config.management.commands.restore",
    "config.management.commands.serve_geyser",
    "config.web",
    "ingest.management.commands.follow",
    "ingest.management.commands.import_blocks",
    "localnet.management.commands.localnet",
    "priority.management.commands.land",
)


@dataclass(slots=True)
class ForkedProcess:
    """A running command, used as subprocess.Popen is."""

    pid: int
    stdout: IO[str] | None
    _status: socket.socket
    returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit status; TimeoutExpired after so many seconds."""
        found = self._look(timeout)
        if found is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return found

    def finish(self, timeout: float) -> str:
        """All of its output, once it has ended; it is killed after so many seconds."""
        assert self.stdout is not None
        timer = threading.Timer(timeout, self.kill)
        timer.start()
        with self.stdout:
            text = self.stdout.read()
        timer.cancel()
        self.wait(timeout)
        return text

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(self._status.recv(64))
            self._status.close()
        return self.returncode


def start(
    arguments: Sequence[str], *, environment: Mapping[str, str], output: int | None = None
) -> ForkedProcess:
    """Starts `manage.py` with these arguments, in a session of its own. Its output goes to the file
    descriptor, or can be read from its `stdout`.
    """
    if output is not None:
        return _start(arguments, environment, output, output, None)
    reads, writes = os.pipe()
    try:
        return _start(arguments, environment, writes, writes, os.fdopen(reads, encoding="utf-8"))
    finally:
        os.close(writes)


def run(
    arguments: Sequence[str], *, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What `manage.py` with these arguments has printed, once it has ended."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = _start(arguments, environment, output.fileno(), errors.fileno(), None)
        try:
            status = process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
        for each in (output, errors):
            each.seek(0)
        return subprocess.CompletedProcess(arguments, status, output.read(), errors.read())


def _start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    output: int,
    errors: int,
    stdout: IO[str] | None,
) -> ForkedProcess:
    return ask(_server(), arguments, environment, [output, errors], stdout)


def ask(
    server: socket.socket,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    streams: Sequence[int],
    stdout: IO[str] | None = None,
) -> ForkedProcess:
    """Has the server fork; `streams` are the last of the fork's input, output and errors."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    message = json.dumps({"arguments": list(arguments), "environment": dict(environment)}).encode()
    with theirs:
        socket.send_fds(server, [message], [*streams, theirs.fileno()])
    return ForkedProcess(int(ours.recv(64)), stdout, ours)


@functools.cache
def _server() -> socket.socket:
    """Connects this process to the one for forks, and starts that one if none runs."""
    if ADDRESS not in os.environ:
        start_server()
    return connected()


def start_server(module: str = __name__, address: str = ADDRESS, *arguments: str) -> None:
    """Starts the process for forks of this process, with which it ends, and of its children: the
    module, which `serve`s. It has the arguments.
    """
    os.environ[address] = str(Path(os.environ["TIDEMARK_RUN_DIR"], module))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.environ[address])
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(listener.fileno()), *arguments],
            cwd=ROOT,
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
        )
        ours = connected(address)
    atexit.register(process.wait)
    atexit.register(ours.close)  # before the wait: the server ends with the first connection


def connected(address: str = ADDRESS) -> socket.socket:
    """A connection to such a process."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _LARGEST_MESSAGE)
    connection.connect(os.environ[address])
    return connection


@dataclass(slots=True, frozen=True)
class _Running:
    pid: int
    status: socket.socket
    asker: socket.socket


def serve(listener: socket.socket, become: Callable[[Sequence[str]], None]) -> None:
    """Forks what is asked for, as what `become` makes of the arguments, and reports how it ended,
    until the first that asks closes. What one has asked for ends with its connection.
    """
    gc.collect()
    gc.freeze()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork copies no other thread"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the tests
    askers: list[socket.socket] = []
    running: dict[int, _Running] = {}
    while True:
        for ready in select.select([listener, *askers, *running], [], [])[0]:
            if ready is listener:
                askers.append(listener.accept()[0])
            elif ready in running:
                _report(ready, running.pop(ready))
            else:
                message, files, _flags, _address = socket.recv_fds(ready, _LARGEST_MESSAGE, 4)
                if message:
                    closed = {each.fileno() for each in (listener, *askers)} | running.keys()
                    new = _fork(become, json.loads(message), files, closed, ready)
                    running[os.pidfd_open(new.pid)] = new
                    continue
                is_over = ready is askers[0]
                for each in running.values():
                    if is_over or each.asker is ready:
                        os.kill(each.pid, signal.SIGKILL)
                if is_over:
                    return
                askers.remove(ready)
                ready.close()


def _report(descriptor: int, ended: _Running) -> None:
    os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.waitpid(ended.pid, 0)[1])
    with ended.status, contextlib.suppress(OSError):  # no test waits for it
        ended.status.send(str(code).encode())


def _fork(
    become: Callable[[Sequence[str]], None],
    asked: dict[str, Any],
    files: list[int],
    closed: set[int],
    asker: socket.socket,
) -> _Running:
    *streams, connection = files
    pid = os.fork()
    if pid == 0:
        _run(become, asked, streams, {connection, *closed})
    for each in streams:
        os.close(each)
    status = socket.socket(fileno=connection)
    status.send(str(pid).encode())
    return _Running(pid, status, asker)


def _run(
    become: Callable[[Sequence[str]], None],
    asked: dict[str, Any],
    streams: list[int],
    closed: set[int],
) -> None:
    """What was asked for, in the new process; never returns."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in enumerate(streams, start=3 - len(streams)):
            os.dup2(stream, number)
        for number in {*streams, *closed}:
            os.close(number)
        kept = {name: os.environ[name] for name in SET_AT_IMPORT if name in os.environ}
        os.environ.clear()
        os.environ.update(asked["environment"] | kept)
        _forget_settings()
        become(asked["arguments"])
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        else:
            status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _forget_settings() -> None:
    """They are read again at their next use, and connections made by them."""
    from django.conf import settings
    from django.db import connections
    from django.utils.functional import empty

    for name in OF_THE_ENVIRONMENT:
        del sys.modules[name]
    settings.__dict__.clear()
    settings._wrapped = empty
    vars(connections).clear()
    connections.__init__()  # type: ignore[misc]


def _use_store() -> None:
    """The archive takes its object store from the settings when Django starts, which it has."""
    from django.apps import apps

    if os.environ.get("ARCHIVE_STORE"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        apps.get_app_config("rewind").ready()


def load() -> None:
    """What all commands need."""
    sys.path.insert(1, str(ROOT / "platform"))
    import django

    django.setup()
    for name in _LOADED:
        importlib.import_module(name)


def _be_command(arguments: Sequence[str]) -> None:
    _use_store()
    sys.argv = ["manage.py", *arguments]
    runpy.run_path("manage.py", run_name="__main__")


if __name__ == "__main__":
    load()
    serve(socket.socket(fileno=int(sys.argv[1])), _be_command)
