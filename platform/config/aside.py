"""Work in a forked process beside this one, forked before any thread starts."""

import logging
import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Generic, TypeVar

from embedded.processes import set_death_signal

log = logging.getLogger(__name__)

T = TypeVar("T")


class AsideFailed(Exception):
    """The work raised an expected exception; the text is that exception's."""


@dataclass(slots=True)
class Aside(Generic[T]):
    """A forked process whose work begins when `go` is called."""

    _pid: int
    _go: int
    _results: IO[bytes]

    def go(self) -> None:
        os.write(self._go, b"\0")

    def result(self) -> T:
        """Waits for the result. Raises AsideFailed for an expected exception of the work, and
        RuntimeError for any other, which is logged.
        """
        received = self._results.read()
        self._results.close()
        os.close(self._go)
        os.waitpid(self._pid, 0)
        if not received:
            raise RuntimeError("the process beside this one failed: see its log")
        succeeded, found = pickle.loads(received)
        if not succeeded:
            raise AsideFailed(found)
        result: T = found
        return result

    def give_up(self) -> None:
        """Kills the process if its result was not read."""
        if not self._results.closed:
            os.kill(self._pid, signal.SIGKILL)
            self._results.close()
            os.close(self._go)
            os.waitpid(self._pid, 0)


def aside(work: Callable[[], T], *, expected: tuple[type[Exception], ...]) -> Aside[T]:
    """Forks a process for the work; it ends with this one."""
    go_reads, go_writes = os.pipe()
    reads, writes = os.pipe()
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(go_reads)
        os.close(writes)
        return Aside(pid, go_writes, os.fdopen(reads, "rb"))
    status = 1
    try:
        os.close(go_writes)
        os.close(reads)
        set_death_signal(signal.SIGKILL, parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group
        if os.read(go_reads, 1):
            _send_result(writes, work, expected)
        status = 0
    except BaseException:
        log.exception("the process beside this one failed")
    finally:
        sys.stdout.flush()
        os._exit(status)


def _send_result(
    writes: int, work: Callable[[], Any], expected: tuple[type[Exception], ...]
) -> None:
    with os.fdopen(writes, "wb") as results:
        try:
            results.write(pickle.dumps((True, work())))
        except expected as error:
            results.write(pickle.dumps((False, str(error))))
