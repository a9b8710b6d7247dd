"""The web server's first process: it holds the listening socket and restarts workers."""

import contextlib
import gc
import logging
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webserver import memory
from webserver.load import Load

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A worker process among the others. It calls `progress` at least every few seconds while it
    works, and may ask when the master made progress last (Unix seconds).
    """

    progress: Callable[[], None]
    master_turned: Callable[[], float]
    load: Load


# What a worker process runs.
Serve = Callable[[Sequence[socket.socket], Place], None]


def _nothing() -> None:
    pass


_TICK_SECONDS = 0.5
# A worker that says nothing for so long hangs; a new one has longer to begin.
_SILENT_SECONDS = 15.0
_BEGINNING_SECONDS = 60.0
_PATIENCE_SECONDS = 5.5
_LONGEST_PAUSE_SECONDS = 10.0
_SETTLED_SECONDS = 30.0
_BACKLOG = 2_048
_MOMENT = struct.Struct("d")


@dataclass(slots=True)
class _Process:
    pid: int
    reads: int
    began: float
    load: Load
    heard: float | None = None


def listen(host: str, port: int) -> list[socket.socket]:
    """Listening sockets on every address of the host. Raises OSError."""
    found = []
    infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, kind, protocol, _name, address in dict.fromkeys(infos):
            sock = socket.socket(family, kind, protocol)
            found.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind(address)
            sock.listen(_BACKLOG)
    except OSError:
        for sock in found:
            sock.close()
        raise
    return found


class Master:
    """Forks workers, restarts those that end, and kills and restarts those that hang."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        serve: Serve,
        *,
        workers: int,
        on_progress: Callable[[], None] = _nothing,
        in_worker: Callable[[], None] = _nothing,
    ) -> None:
        """`on_progress` is called as often as the master's loop turns, from the first response of a
        worker on; `in_worker` first of all in each worker's process.
        """
        self._sockets = sockets
        self._serve = serve
        self._most = workers
        self._processes: list[_Process] = []
        self._falls = 0
        self._fork_at = 0.0
        self._stops = False
        self._is_ready = False
        self._load = Load.memory(workers)
        self._turned = mmap.mmap(-1, _MOMENT.size)  # shared with the workers
        self._on_progress, self._in_worker = on_progress, in_worker

    def run(self) -> int:
        """Until SIGTERM or SIGINT; the exit status."""
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._ask_to_stop)
        # The workers share the application's memory as long as no garbage collector writes to it.
        gc.collect()
        gc.freeze()
        while not self._stops:
            _MOMENT.pack_into(self._turned, 0, time.time())
            self._fork_missing()
            self._listen_to_workers()
            self._reap()
            self._kill_silent()
            if self._is_ready:
                self._on_progress()
        self._end()
        return 0

    def _ask_to_stop(self, *_: object) -> None:
        self._stops = True

    def _fork_missing(self) -> None:
        now = time.monotonic()
        while len(self._processes) < self._most and now >= self._fork_at:
            reads, writes = os.pipe()
            load = Load(self._load, self._free_index(), self._most)
            pid = os.fork()
            if pid == 0:
                os.close(reads)
                self._become_worker(writes, load)
            os.close(writes)
            os.set_blocking(reads, False)
            self._processes.append(_Process(pid, reads, now, load))

    def _free_index(self) -> int:
        taken = {each.load.index for each in self._processes}
        return next(index for index in range(self._most) if index not in taken)

    def _become_worker(self, writes: int, load: Load) -> None:
        """In a new process; never returns."""
        status = 1
        try:
            for each in self._processes:
                os.close(each.reads)
            for signum in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signum, signal.SIG_DFL)
            self._in_worker()
            os.set_blocking(writes, False)

            def report_progress() -> None:
                try:
                    os.write(writes, b".")
                except BrokenPipeError:  # the master died
                    os.kill(os.getpid(), signal.SIGTERM)
                except BlockingIOError:
                    pass

            load.report(0)
            turned = self._turned
            place = Place(report_progress, lambda: float(_MOMENT.unpack(turned[:])[0]), load)
            self._serve(self._sockets, place)
            status = 0
        except BaseException:
            log.exception("a web worker fell")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _listen_to_workers(self) -> None:
        with contextlib.suppress(InterruptedError):
            readable, _, _ = select.select(
                [each.reads for each in self._processes], [], [], _TICK_SECONDS
            )
            for each in self._processes:
                if each.reads in readable and self._drain(each.reads):
                    each.heard = time.monotonic()
                    self._is_ready = True
            if readable:
                time.sleep(_TICK_SECONDS / 5)  # what follows may come together

    def _drain(self, reads: int) -> bool:
        try:
            return bool(os.read(reads, 4_096))
        except BlockingIOError:
            return False

    def _reap(self) -> None:
        for each in list(self._processes):
            pid, status = os.waitpid(each.pid, os.WNOHANG)
            if pid == 0:
                continue
            self._forget(each)
            if self._stops:
                continue
            now = time.monotonic()
            settled = now - each.began > _SETTLED_SECONDS
            self._falls = 0 if settled else self._falls + 1
            pause = 0.0 if settled else min(_LONGEST_PAUSE_SECONDS, 0.5 * 2.0**self._falls)
            self._fork_at = now + pause
            log.error("web worker %s ended (%s); another starts", pid, _how(status))

    def _kill_silent(self) -> None:
        now = time.monotonic()
        for each in self._processes:
            if each.heard is None:
                is_silent = now - each.began > _BEGINNING_SECONDS
            else:
                is_silent = now - each.heard > _SILENT_SECONDS
            if is_silent:
                log.error("web worker %s makes no progress: it is killed", each.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each.pid, signal.SIGKILL)

    def _forget(self, process: _Process) -> None:
        os.close(process.reads)
        process.load.leave()
        self._processes.remove(process)

    def _end(self) -> None:
        for sock in self._sockets:
            sock.close()
        for each in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._processes and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.05)
        for each in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        while self._processes:
            self._reap()
            time.sleep(0.02)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    if os.waitstatus_to_exitcode(status) == memory.STATUS:
        return "no more memory"
    return f"exit status {os.waitstatus_to_exitcode(status)}"
