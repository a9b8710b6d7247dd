"""Engine processes: one per core, with time limits, replaced when they die or grow old."""

import os
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from threading import Condition

from simulator.errors import EngineFault, EngineTimeout
from simulator.jobs import Answer, Job, receive, send, unpacked_outcome
from simulator.outcome import Outcome
from simulator.sent import SentValues

_SHELF = Path(__file__).resolve().parent.parent
_STARTING_SECONDS = 60.0
_ENDING_SECONDS = 5.0


class EngineProcess:
    """One process and its socket. It is a new interpreter (neither forked nor by multiprocessing),
    so that threads, daemons and the parent's `__main__` do not matter.
    """

    def __init__(self, memory_limit: int) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            descriptor = theirs.fileno()
            arguments = [str(descriptor), str(memory_limit)]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "simulator.engine_process", *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=[descriptor],
                env={**os.environ, "PYTHONPATH": _python_path(), "RUST_BACKTRACE": "0"},
            )
        self._connection = mine
        self._ready = False
        self._sent = SentValues()
        self.broken = False
        self.jobs = 0
        self.memory = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, job: Job, deadline: float) -> list[Outcome]:
        """Returns the job's outcomes or raises its exception. `broken` is true afterwards if the
        process itself failed (EngineTimeout, EngineFault) and must be replaced.
        """
        self.broken = True
        try:
            if not self._ready:
                deadline += self._start(deadline)
            self._wait_until(deadline)
            send(self._connection, self._sent.payload(job))
            answer = receive(self._connection)
        except TimeoutError:
            raise EngineTimeout("the engine took too long") from None
        except (EOFError, OSError):
            raise EngineFault("the engine's process died") from None
        self.broken = False
        self.jobs += 1
        return self._outcomes(answer)

    def is_dead(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """Kills the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Lets the process exit, and kills it if it does not."""
        self._connection.close()
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def _start(self, deadline: float) -> float:
        """Waits until the process is ready. Returns the seconds, which extend the deadline."""
        begun = time.monotonic()
        self._wait_until(max(deadline, begun + _STARTING_SECONDS))
        self._outcomes(receive(self._connection))
        self._ready = True
        return time.monotonic() - begun

    def _wait_until(self, deadline: float) -> None:
        # Never 0, which would mean non-blocking.
        self._connection.settimeout(max(deadline - time.monotonic(), 0.001))

    def _outcomes(self, answer: Answer) -> list[Outcome]:
        self.memory = answer.memory
        if answer.error is not None:
            raise answer.error
        return [unpacked_outcome(each) for each in answer.outcomes]


class Workers:
    """A thread-safe pool of engine processes. A process with more than `memory_each` is replaced
    after its job; one that allocates more than `memory_limit` dies.
    """

    def __init__(
        self,
        *,
        processes: int | None = None,
        jobs_each: int = 20_000,
        memory_each: int = 1024 * 1024 * 1024,
        memory_limit: int = 2 * 1024 * 1024 * 1024,
    ) -> None:
        self._limit = processes or len(os.sched_getaffinity(0))
        self._jobs_each = jobs_each
        self._memory_each = memory_each
        self._memory_limit = memory_limit
        self._idle: deque[EngineProcess] = deque()
        self._busy: set[EngineProcess] = set()
        self._changed = Condition()
        self._closed = False

    def run(self, job: Job, *, timeout_seconds: float) -> list[Outcome]:
        """Returns the job's outcomes or raises its exception. EngineTimeout if no process is free
        or the job does not end in time: its process is killed and replaced.
        """
        deadline = time.monotonic() + timeout_seconds
        process = self._take(deadline)
        try:
            return process.run(job, deadline)
        finally:
            self._give_back(process)

    def pids(self) -> list[int]:
        """The current processes."""
        with self._changed:
            return [process.pid for process in (*self._idle, *self._busy)]

    def busy(self) -> int:
        """The number of busy processes."""
        with self._changed:
            return len(self._busy)

    def close(self) -> None:
        """Ends every process; busy ones after their jobs."""
        with self._changed:
            self._closed = True
            idle, self._idle = list(self._idle), deque()
            self._changed.notify_all()
        for process in idle:
            process.close()

    def _take(self, deadline: float) -> EngineProcess:
        with self._changed:
            while True:
                if self._closed:
                    raise EngineFault("the engine processes are closed")
                if self._idle:
                    # The one used last has its programs loaded.
                    process = self._idle.pop()
                    if process.is_dead():
                        process.kill()
                        continue
                elif len(self._busy) < self._limit:
                    process = EngineProcess(self._memory_limit)
                elif self._changed.wait(max(deadline - time.monotonic(), 0)):
                    continue
                else:
                    raise EngineTimeout("every engine process is busy")
                self._busy.add(process)
                return process

    def _give_back(self, process: EngineProcess) -> None:
        old = process.jobs >= self._jobs_each or process.memory > self._memory_each
        with self._changed:
            self._busy.discard(process)
            keep = not (process.broken or old or self._closed)
            if keep:
                self._idle.append(process)
            elif not self._closed:
                # Started now, so that the next job does not wait for its start.
                self._idle.appendleft(EngineProcess(self._memory_limit))
            self._changed.notify()
        if process.broken:
            process.kill()
        elif not keep:
            process.close()


def _python_path() -> str:
    """So that the process finds the packages in a bare checkout too."""
    paths = [str(_SHELF), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(path for path in paths if path)
