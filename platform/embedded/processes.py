"""Starting, finding and ending server processes."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

from embedded.owner import Owner, stepping_down

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


# Thousandths of the memory by which a process is the kernel's choice before its parent, when no
# memory is left: the parent restarts it, and its own end would be the end of all. Programs go
# before servers, whose sessions end with them.
_PROGRAM_OOM, _SERVER_OOM = 200, 100


def dies_with_parent(signum: int, *, oom_score: int = _PROGRAM_OOM) -> Callable[[], None] | None:
    """For subprocess's preexec_fn: the child gets the signal when its starter dies, even by
    SIGKILL, and is killed before it where memory runs out. Linux alone has it; elsewhere the next
    start ends what was left behind.
    """
    if _libc is None:
        return None
    parent = os.getpid()
    return lambda: set_death_signal(signum, parent, oom_score=oom_score)


def set_death_signal(signum: int, parent: int, *, oom_score: int = _PROGRAM_OOM) -> None:
    """This process gets the signal when its parent, which should be that one, dies; it is killed
    before it where memory runs out. Linux alone.
    """
    if _libc is None:
        return
    _libc.prctl(_PR_SET_PDEATHSIG, signum)
    _raise_oom_score(oom_score)
    if os.getppid() != parent:  # it died in between
        os.kill(os.getpid(), signum)


def _raise_oom_score(by: int, pid: int | str = "self") -> None:
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(f"/proc/{pid}/oom_score_adj", os.O_RDWR)
        try:
            score = min(1_000, int(os.read(descriptor, 16)) + by)
            os.pwrite(descriptor, str(score).encode(), 0)
        finally:
            os.close(descriptor)


def reap_others(known: Collection[int]) -> None:
    """Waits for adopted children that ended; those `known` are someone's own to wait for."""
    with contextlib.suppress(ChildProcessError):
        while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if found.si_pid in known:
                return  # waited for in a moment; then the next one comes up
            os.waitpid(found.si_pid, os.WNOHANG)


def open_log(path: Path) -> IO[bytes]:
    """A server's log, to be appended to; a new one is this account's alone."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "ab")


def start_server(
    command: Sequence[str | Path],
    *,
    folder: Path,
    owner: Owner | None,
    log: IO[bytes],
    stop_signal: int,
    environment: Mapping[str, str],
    says: str = "",
) -> subprocess.Popen[bytes]:
    """A server with `folder` as its working directory, in its own session so that Ctrl-C reaches
    only us. `says` is its standard input, for a password, which would be visible on its command
    line.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,  # entered before the account changes: it may lie where that cannot go
        env=dict(environment),
        stdin=subprocess.PIPE if says else subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        umask=0o077,
        preexec_fn=dies_with_parent(stop_signal, oom_score=0),
        **stepping_down(owner),
    )
    _raise_oom_score(_SERVER_OOM, process.pid)  # not by itself: it may be of another account
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:  # it died: seen later
            stdin.write(says.encode())
    return process


def running_in(folder: Path, name: str) -> list[psutil.Process]:
    """Processes of that name whose working directory is `folder`: a number in a pid file may have
    been reused.
    """
    place = os.path.realpath(folder)
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.name() == name and process.cwd() == place:
                found.append(process)
    return found


def end(processes: Iterable[psutil.Process], *signals: int, patience: float = 10.0) -> None:
    """Ends processes by each signal in turn, `patience` seconds each, by SIGKILL at last."""
    left = list(processes)
    for signum in (*signals, signal.SIGKILL):
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signum)
        deadline = time.monotonic() + patience
        while left and time.monotonic() < deadline:
            left = [process for process in left if _lives(process)]
            time.sleep(0.02 if left else 0)
        if not left:
            return


def status_of(pid: int) -> str:
    """The process's status as psutil names it, such as `stopped`; empty for one that is gone."""
    with contextlib.suppress(psutil.Error):
        return str(psutil.Process(pid).status())
    return ""


def _lives(process: psutil.Process) -> bool:
    # A container's first process may never reap what it inherits: a zombie is gone for us.
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def stop_child(process: subprocess.Popen[bytes], *signals: int) -> None:
    """Ends a child of ours as `end` does, and reaps it."""
    if process.poll() is None:
        end([psutil.Process(process.pid)], *signals)
    process.wait()


def wait_until(
    ready: Callable[[], bool], process: subprocess.Popen[bytes], *, seconds: float
) -> bool:
    """True as soon as the server is ready, False when it died or the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        if ready():
            return True
        time.sleep(0.02)
    return False


def answers_at(path: Path, asking: bytes) -> bool:
    """Whether the server at the socket answers these bytes within 2 s."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(2.0)
        try:
            connection.connect(str(path))
            connection.sendall(asking)
            return bool(connection.recv(1))
        except OSError:
            return False


def last_line(log: Path) -> str:
    """Why a server ended, by its log."""
    lines = log.read_text(errors="replace").splitlines()
    fatal = [line for line in lines[-50:] if "FATAL" in line or "PANIC" in line]
    return (fatal or lines or ["without output"])[-1]
