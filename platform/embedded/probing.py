"""Health probes of the embedded servers: every two seconds, each in its own thread."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

from embedded.processes import status_of
from embedded.servers import Server, Servers

# A server that ran and answered, and then did not for so long, is hung.
SILENT_SECONDS = 20.0
# PostgreSQL forks a process for each.
_PAUSE_SECONDS = 2.0
# After a pause of the whole machine the first probe alone says nothing.
_FAILURES = 3


@dataclass(slots=True)
class _Probed:
    """Of the server's process `pid`: when it answered last (monotonic; None: never)."""

    pid: int = 0
    answered_at: float | None = None
    failures: int = 0
    stopped: dict[int, float] = field(default_factory=dict)


class Prober:
    """From `start` until `stop`."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._probed: dict[str, _Probed] = {}
        self._stopping = threading.Event()

    def start(self) -> None:
        for server in self._servers.running:
            self._probed[server.name] = _Probed()
            name = f"probe {server.name}"
            threading.Thread(target=self._run, args=(server,), name=name, daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def silent_seconds(self, server: Server) -> float:
        """How long the running server has not answered; 0 for one that has not answered yet: it
        may recover what an earlier one left.
        """
        probed = self._probed.get(server.name)
        if probed is None or probed.pid != server.process.pid or probed.answered_at is None:
            return 0.0
        return time.monotonic() - probed.answered_at if probed.failures else 0.0

    def has_answered(self, server: Server) -> bool:
        """Whether the running server was seen to answer."""
        probed = self._probed[server.name]
        return probed.pid == server.process.pid and probed.answered_at is not None

    def is_hung(self, server: Server) -> bool:
        """It is to be killed. Not while it waits for the disk: a signal would wait, too."""
        if self.silent_seconds(server) < SILENT_SECONDS:
            return False
        enough = self._probed[server.name].failures >= _FAILURES
        return enough and status_of(server.process.pid) != psutil.STATUS_DISK_SLEEP

    def stopped_children(self, server: Server) -> list[int]:
        """Processes of the server (a session of PostgreSQL's) that were stopped for so long."""
        probed = self._probed.get(server.name)
        if probed is None:
            return []
        now = time.monotonic()
        found = dict(probed.stopped)
        return [pid for pid, since in found.items() if now - since >= SILENT_SECONDS]

    def _run(self, server: Server) -> None:
        probed = self._probed[server.name]
        while not self._stopping.wait(_PAUSE_SECONDS):
            pid = server.process.pid
            if pid != probed.pid:
                probed.pid, probed.answered_at, probed.failures = pid, None, 0
            if _quietly(server.answers):
                probed.answered_at, probed.failures = time.monotonic(), 0
            else:
                probed.failures += 1
            now = time.monotonic()
            stopped = _stopped_children(pid)
            probed.stopped = {each: probed.stopped.get(each, now) for each in stopped}


def _quietly(answers: Callable[[], bool]) -> bool:
    try:
        return answers()
    except Exception:
        return False


def _stopped_children(pid: int) -> list[int]:
    with contextlib.suppress(psutil.Error):
        children = [each.pid for each in psutil.Process(pid).children()]
        return [each for each in children if status_of(each) == psutil.STATUS_STOPPED]
    return []
