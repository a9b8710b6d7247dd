"""Whether a process is stopped: three system calls where there is /proc, else psutil's many."""

import contextlib
import os

import psutil

# Of a file of /proc, more than any that is read here has.
_MOST_BYTES = 65_536


def read_proc(name: str) -> bytes:
    """The file /proc/`name`. Raises OSError."""
    descriptor = os.open(f"/proc/{name}", os.O_RDONLY)
    try:
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def is_stopped(pid: int) -> bool:
    """Whether it was stopped by a signal; False for one that is not there."""
    try:
        return read_proc(f"{pid}/stat").rpartition(b") ")[2][:1] == b"T"
    except OSError:
        pass  # it has ended, or the system has no /proc
    with contextlib.suppress(psutil.Error):
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    return False
