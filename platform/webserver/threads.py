"""The threads that run the application, the last one that became idle first."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

log = logging.getLogger(__name__)

Job = Callable[[], None]


class _Thread(threading.Thread):
    def __init__(self, pool: "Threads", number: int, job: Job) -> None:
        super().__init__(name=f"web-{number}", daemon=True)
        self.pool = pool
        self.job: Job | None = job
        self.began = 0.0
        self.wake = threading.Lock()
        self.wake.acquire()

    def run(self) -> None:
        pool = self.pool
        while True:
            job, self.job = self.job, None
            while job is not None:
                self.began = time.monotonic()
                try:
                    job()
                except Exception:
                    log.exception("a request's thread failed")
                self.began = 0.0
                pool.last_done = time.monotonic()
                job = pool.next_job(self)
            if pool.is_stopped:
                pool.at_end()
                return
            self.wake.acquire()


class Threads:
    """At most so many threads. `submit` is called by one thread alone, the event loop's.

    The thread that became idle last is woken first: at a low load few threads run, each with warm
    caches and a database connection of its own, and fewer contend for the interpreter's lock.
    """

    def __init__(self, most: int, at_end: Job = lambda: None) -> None:
        self.most = most
        self.at_end = at_end  # called in each thread when it ends
        self.backlog: deque[Job] = deque()
        self.last_done = time.monotonic()
        self.is_stopped = False
        self._threads: list[_Thread] = []
        self._idle: list[_Thread] = []

    def submit(self, job: Job) -> None:
        """Runs the job in a thread as soon as one is free."""
        try:
            thread = self._idle.pop()
        except IndexError:
            if len(self._threads) < self.most:
                thread = _Thread(self, len(self._threads), job)
                if self._has_started(thread):
                    return
            self.backlog.append(job)
            # One may have become idle between the two looks.
            self._wake_for_backlog()
            return
        thread.job = job
        thread.wake.release()

    def _has_started(self, thread: _Thread) -> bool:
        """False where there is no memory for it, and another thread will do its job."""
        try:
            thread.start()
        except (RuntimeError, MemoryError):
            if not self._threads:
                raise
            return False
        self._threads.append(thread)
        return True

    def _wake_for_backlog(self) -> None:
        try:
            thread = self._idle.pop()
        except IndexError:
            return
        try:
            thread.job = self.backlog.popleft()
        except IndexError:
            self._idle.append(thread)
            return
        thread.wake.release()

    def next_job(self, thread: _Thread) -> Job | None:
        """Called by a thread whose job is done; None when it is to wait for its wake-up."""
        while True:
            try:
                return self.backlog.popleft()
            except IndexError:
                self._idle.append(thread)
            if not self.backlog:
                return None
            # A job came between the two looks, when this thread did not count as idle.
            try:
                self._idle.remove(thread)
            except ValueError:
                return None  # it has just been given a job

    def stop(self) -> None:
        """The threads end, each after its job."""
        self.is_stopped = True
        while True:
            try:
                self._idle.pop().wake.release()
            except IndexError:
                return

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most so long for each."""
        for thread in self._threads:
            thread.join(seconds)

    @property
    def busy(self) -> int:
        return len(self._threads) - len(self._idle)

    def stands_still(self, seconds: float, *, waits: bool = False) -> bool:
        """Whether every thread has been at its job for so long while others wait."""
        now = time.monotonic()
        if not (waits or self.backlog) or self.busy < self.most or now - self.last_done < seconds:
            return False
        return all(each.began and now - each.began > seconds for each in self._threads)
