"""`manage.py` commands as forked processes: one process of each worker has loaded Django and localnet,
which takes a second of CPU. `make run` starts its programs the same way.

Only commands that read the settings as they run (localnet) may be forked: each fork reads the
settings anew from its own environment, but what a module has kept of them stays.
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
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_LARGEST_MESSAGE = 131_072


@dataclass(slots=True)
class ForkedProcess:
    """A running command, used as subprocess.Popen is."""

    pid: int
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

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(self._status.recv(64))
            self._status.close()
        return self.returncode


def start(
    arguments: Sequence[str], *, environment: Mapping[str, str], output: int
) -> ForkedProcess:
    """Starts `manage.py` with these arguments; its output goes to the file descriptor."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    message = json.dumps({"arguments": list(arguments), "environment": dict(environment)}).encode()
    control = _server()
    with theirs:
        socket.send_fds(control, [message], [output, theirs.fileno()])
    return ForkedProcess(int(ours.recv(64)), ours)


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
    from django.conf import settings
    from django.utils.functional import empty

    status = 1
    try:
        for number in (1, 2):
            os.dup2(output, number)
        for number in {output, *closed}:
            os.close(number)
        os.environ.clear()
        os.environ.update(command["environment"])
        # Read anew at the first use.
        del sys.modules["config.settings"]
        settings.__dict__.clear()
        settings._wrapped = empty
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


def _main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
    import gc

    import django

    import localnet.management.commands.localnet  # noqa: F401

    django.setup()
    gc.freeze()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork copies no other thread"
    _serve(control)


if __name__ == "__main__":
    _main()
