"""The preloaded image: a process that has loaded the application, from which programs are forked.

A fork starts in milliseconds and shares the application's memory. The image has one thread, opens
no connection and no event loop, and runs none of the programs' work.
"""

import atexit
import contextlib
import gc
import json
import logging
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from config import logs
from embedded.process_titles import show_as
from embedded.processes import adopt_orphans, set_death_signal

log = logging.getLogger(__name__)

_LARGEST_MESSAGE = 131_072
_FORK_SECONDS = 20.0
_ADOPTION_SECONDS = 10.0
_THREAD_SECONDS = 2.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Forked:
    """A program that the image forked: a child of this process, used as subprocess.Popen is."""

    pid: int
    stdout: IO[bytes]
    returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.returncode = 1  # other code has waited for it
            else:
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self) -> int:
        while (status := self.poll()) is None:
            time.sleep(0.01)
        return status

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class Image:
    """This process's side of the image. Only its main thread may use it."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self._control = control
        self._is_there = True

    def spawn(
        self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
    ) -> Forked | None:
        """Starts the program in a session of its own; it gets SIGTERM when this process ends. None
        where the image cannot: then the caller executes the command.
        """
        if not self._is_there:
            return None
        words = {"argv": list(argv), "cwd": str(cwd), "environment": dict(environment)}
        message = json.dumps(words).encode()
        if len(message) > _LARGEST_MESSAGE:
            return None
        reads, writes = os.pipe()
        output = os.fdopen(reads, "rb", buffering=0)
        try:
            socket.send_fds(self._control, [message], [writes])
            reply = self._receive(_FORK_SECONDS)
        except OSError:
            reply = None
        finally:
            os.close(writes)
        if reply is None:
            output.close()
            self.close()
            return None
        return Forked(reply["pid"], output)

    def close(self) -> None:
        """Ends the image; what it forked goes on."""
        if self._is_there:
            self._is_there = False
            self._control.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)

    def has_ended(self) -> bool:
        """Whether it fell; programs are executed from then on."""
        if self._is_there and select.select([self._control], [], [], 0)[0]:
            self.close()  # it says nothing unless it is asked
            return True
        return False

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        with contextlib.suppress(OSError, ValueError):
            if select.select([self._control], [], [], seconds)[0]:
                found: dict[str, Any] = json.loads(self._control.recv(_LARGEST_MESSAGE))
                return found
        return None


def preload(*, environment: Mapping[str, str]) -> Image | None:
    """Forks the image of this process, which has loaded the shared code, one thread and no
    connection. None if ps could not distinguish programs from this process, or the system does not
    support subreapers: then every program is executed.
    """
    if not adopt_orphans() or not _has_one_thread():
        return None
    # What is loaded stays shared with every fork when no collector walks through it.
    gc.collect()
    # Names it holds would be let go in each fork, on the pages where they lie.
    sys._clear_type_cache()
    gc.freeze()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for each in (ours, theirs):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _LARGEST_MESSAGE)
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        theirs.close()
        return Image(pid, ours)
    status = 1
    try:
        _close_all_but(theirs.fileno())
        set_death_signal(signal.SIGKILL, parent)
        _be_the_image(theirs, parent, environment)
        status = 0
    except BaseException:
        log.exception("the preloaded image fell")
    finally:
        os._exit(status)


def _has_one_thread() -> bool:
    """The kernel may see one that was joined for a moment longer."""
    until = time.monotonic() + _THREAD_SECONDS
    while len(list(Path("/proc/self/task").glob("*"))) != 1:
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
    return True


def _close_all_but(kept: int) -> None:
    """What the supervisor holds, its lock on the run directory above all, is not ours to hold."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def _be_the_image(control: socket.socket, parent: int, environment: Mapping[str, str]) -> None:
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)  # Ctrl-C reaches the whole group: we end at EOF
    if not show_as([sys.executable, "manage.py", "preloaded"], environment):
        return
    while True:
        message, descriptors, _flags, _address = socket.recv_fds(control, _LARGEST_MESSAGE, 1)
        if not message:
            return
        (output,) = descriptors
        between = os.fork()
        if between == 0:
            # The program's parent ends at once, so that the supervisor adopts the program.
            if os.fork():
                os._exit(0)
            _become_program(json.loads(message), output, control, parent)
        os.close(output)
        os.waitpid(between, 0)


def _become_program(
    order: dict[str, Any], output: int, control: socket.socket, supervisor: int
) -> None:
    """In the new process; never returns."""
    status = 1
    try:
        deadline = time.monotonic() + _ADOPTION_SECONDS
        while os.getppid() != supervisor:
            if time.monotonic() > deadline:
                os._exit(1)
            time.sleep(0.0005)
        set_death_signal(signal.SIGTERM, supervisor)
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(null)
        os.close(output)
        for signum in _SIGNALS:
            signal.signal(signum, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(order["cwd"])
        environment: dict[str, str] = order["environment"]
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        for name, number in (("stdout", 1), ("stderr", 2)):
            # As PYTHONUNBUFFERED has it.
            stream = open(number, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
            stream.reconfigure(write_through=True)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        argv: list[str] = order["argv"]
        show_as(argv, environment)
        # To the standard error, and by the name, that it has now.
        logs.configure(settings.LOGGING)
        control.send(json.dumps({"pid": os.getpid()}).encode())
        control.close()
        status = _run(argv)
    except BaseException:
        log.exception("a program could not be forked")
    finally:
        with contextlib.suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _run(argv: list[str]) -> int:
    """The command, in this process; its exit status."""
    try:
        if argv[0] == "celery":
            from celery.__main__ import main

            sys.argv = [shutil.which("celery") or "celery", *argv[1:]]
            main()
        else:
            sys.argv = argv[1:]
            runpy.run_path(argv[1], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


# How the supervisor holds a program, however it was started.
Running = subprocess.Popen[bytes] | Forked
