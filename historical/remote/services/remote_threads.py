"""The threads that read remote history: a slow archive holds them up, and no others."""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import TypeVar

from django.db import connections

from eventloop.faces import is_on_loop, outcome_of
from historical.errors import RemoteHistoryBusy

T = TypeVar("T")
Job = Callable[[], None]

# Reads that run at once, and those that wait; of one caller, at most so many in all.
THREADS = 8
_WAITING = 56
_OF_HOLDER = 16
# A call that waits on the event loop holds up no thread. One in a thread (of a batch, or where the
# ledger has a gap) does: no more than this many, since others need them.
_HOLDING_UP = 2


class _Own(threading.local):
    """Whether this thread is one of those that read."""

    is_one = False


_own = _Own()


class ReadThreads:
    """Runs reads for calls that wait on the event loop or in threads. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._threads = 0
        self._idle = 0
        self._of_holder: Counter[object] = Counter()
        self._all = 0
        self._holding_up = 0

    async def arun(self, holder: object, function: Callable[[], T]) -> T:
        """The function's outcome, by one of these threads; without a loop to wait on, in this one,
        and what it reads is limited. Raises RemoteHistoryBusy where too many wait.
        """
        if not is_on_loop():
            return function()
        self._enter(holder, holding_up=False)
        try:
            return await outcome_of(asyncio.get_running_loop(), self._submit, function)
        finally:
            self._leave(holder, holding_up=False)

    def run(self, holder: object, function: Callable[[], T]) -> T:
        """The function's outcome, by one of these threads, which may be this one. Raises
        RemoteHistoryBusy where too many wait.
        """
        if _own.is_one:
            return function()
        self._enter(holder, holding_up=True)
        try:
            return self._waited_for(function)
        finally:
            self._leave(holder, holding_up=True)

    def _enter(self, holder: object, *, holding_up: bool) -> None:
        with self._lock:
            if (
                self._all >= THREADS + _WAITING
                or self._of_holder[holder] >= _OF_HOLDER
                or (holding_up and self._holding_up >= _HOLDING_UP)
            ):
                raise RemoteHistoryBusy
            self._all += 1
            self._of_holder[holder] += 1
            self._holding_up += holding_up

    def _leave(self, holder: object, *, holding_up: bool) -> None:
        with self._lock:
            self._all -= 1
            self._holding_up -= holding_up
            self._of_holder[holder] -= 1
            if not self._of_holder[holder]:
                del self._of_holder[holder]

    def _waited_for(self, function: Callable[[], T]) -> T:
        done = threading.Event()
        value: list[T] = []
        failure: list[BaseException] = []

        def job() -> None:
            try:
                value.append(function())
            except BaseException as error:  # raised in the call, not in the thread
                failure.append(error)
            done.set()

        self._submit(job)
        done.wait()
        if failure:
            raise failure[0]
        return value[0]

    def _submit(self, job: Job) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._lock.notify()
                return
            if self._threads < THREADS:
                self._threads += 1
                # A daemon: a read that hangs does not keep the process from stopping.
                threading.Thread(target=self._work, name="remote-history", daemon=True).start()

    def _work(self) -> None:
        _own.is_one = True
        while True:
            with self._lock:
                self._idle += 1
                while not self._jobs:
                    self._lock.wait()
                self._idle -= 1
                job = self._jobs.popleft()
            try:
                job()
            finally:
                connections.close_all()  # few reads use one, and each takes much longer
