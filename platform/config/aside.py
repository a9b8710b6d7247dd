"""Work in a process of its own beside this one, forked before anything has a thread."""

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
    """The text is that of what was raised."""


@dataclass(slots=True)
class Aside(Generic[T]):
    """The work of a forked process, which begins when `go` is called."""

    _pid: int
    _go: int
    _results: IO[bytes]

    def go(self) -> None:
        os.write(self._go, b"\0")

    def result(self) -> T:
        """Waits for it. Raises AsideFailed for what the work expects may fail; RuntimeError for
        anything else, which is logged.
        """
        told = self._results.read()
        self._results.close()
        os.close(self._go)
        os.waitpid(self._pid, 0)
        if not told:
            raise RuntimeError("the process beside this one fell: its log says why")
        is_well, found = pickle.loads(told)
        if not is_well:
            raise AsideFailed(found)
        result: T = found
        return result

    def give_up(self) -> None:
        """Ends it, where its result is not wanted any more."""
        if not self._results.closed:
            os.kill(self._pid, signal.SIGKILL)
            self._results.close()
            os.close(self._go)
            os.waitpid(self._pid, 0)


def aside(work: Callable[[], T], *, expected: tuple[type[Exception], ...]) -> Aside[T]:
    """A process that will do the work; it ends with this one."""
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
            _tell(writes, work, expected)
        status = 0
    except BaseException:
        log.exception("the process beside this one fell")
    finally:
        sys.stdout.flush()
        os._exit(status)


def _tell(writes: int, work: Callable[[], Any], expected: tuple[type[Exception], ...]) -> None:
    with os.fdopen(writes, "wb") as results:
        try:
            results.write(pickle.dumps((True, work())))
        except expected as error:
            results.write(pickle.dumps((False, str(error))))
