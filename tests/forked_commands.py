"""`manage.py` commands as forked processes, as `make run` starts its programs.

One process of each worker has loaded what they need, which takes two seconds of CPU. Each fork
reads the settings anew, from its own environment.
"""

import atexit
import contextlib
import functools
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent

_LARGEST_MESSAGE = 131_072
_LOADED = (
    "config.web",
    "ingest.management.commands.follow",
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
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    message = json.dumps({"arguments": list(arguments), "environment": dict(environment)}).encode()
    control = _server()
    stdout, piped = None, None
    if output is None:
        reads, piped = os.pipe()
        stdout = os.fdopen(reads, encoding="utf-8")
    with theirs:
        socket.send_fds(control, [message], [output if piped is None else piped, theirs.fileno()])
    if piped is not None:
        os.close(piped)
    return ForkedProcess(int(ours.recv(64)), stdout, ours)


@functools.cache
def _server() -> socket.socket:
    """This process's connection to the process that it has for forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _LARGEST_MESSAGE)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    atexit.register(process.wait)
    atexit.register(ours.close)  # before the wait: the server ends with the last connection
    return ours


def _serve(control: socket.socket) -> None:
    """Forks what is asked for and reports how it ended, until the other side closes."""
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for ready in select.select([control, *running], [], [])[0]:
            if ready is not control:
                pid, status = running.pop(ready)
                os.close(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with status, contextlib.suppress(OSError):  # no test waits for it
                    status.send(str(code).encode())
                continue
            message, files, _flags, _address = socket.recv_fds(control, _LARGEST_MESSAGE, 2)
            if not message:
                for pid, _ in running.values():
                    os.kill(pid, signal.SIGKILL)
                return
            output, connection = files
            pid = os.fork()
            if pid == 0:
                _become(json.loads(message), output, {control.fileno(), connection, *running})
            os.close(output)
            status = socket.socket(fileno=connection)
            status.send(str(pid).encode())
            running[os.pidfd_open(pid)] = pid, status


def _become(command: dict[str, Any], output: int, closed: set[int]) -> None:
    """The command, in the new process; never returns."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (1, 2):
            os.dup2(output, number)
        for number in {output, *closed}:
            os.close(number)
        os.environ.clear()
        os.environ.update(command["environment"])
        _forget_settings()
        sys.argv = ["manage.py", *command["arguments"]]
        runpy.run_path("manage.py", run_name="__main__")
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

    del sys.modules["config.settings"]
    settings.__dict__.clear()
    settings._wrapped = empty
    vars(connections).clear()
    connections.__init__()  # type: ignore[misc]


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the worker
    control = socket.socket(fileno=int(sys.argv[1]))
    sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
    import gc
    import importlib

    import django

    django.setup()
    for name in _LOADED:
        importlib.import_module(name)
    gc.freeze()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork copies no other thread"
    _serve(control)


if __name__ == "__main__":
    _main()
