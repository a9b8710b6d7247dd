"""A lane: threads for one kind of request, shared fairly among callers."""

from collections import Counter, OrderedDict, deque

from webserver.threads import Job, Threads

_NO_HOLDER = b""


class Lane:
    """`threads` requests run at once, of one holder at most `of_holder`: its further requests wait
    while those of other holders run. At most `waiting` wait in all, and `waiting_of_holder` of one
    holder. Without `of_holder` a lane has one queue. Used on the event loop only.
    """

    def __init__(
        self,
        threads: int,
        *,
        waiting: int,
        of_holder: int | None = None,
        waiting_of_holder: int | None = None,
        at_end: Job = lambda: None,
    ) -> None:
        self.threads = Threads(threads, at_end)
        self._of_holder = of_holder
        self._waiting = waiting
        self._waiting_of_holder = waiting if waiting_of_holder is None else waiting_of_holder
        self._running: Counter[bytes] = Counter()
        self._all_running = 0
        self._queues: OrderedDict[bytes, deque[Job]] = OrderedDict()
        self._all_waiting = 0

    def has_room(self, holder: bytes = _NO_HOLDER) -> bool:
        """Whether one more request may wait at all."""
        if self._of_holder is None:
            return len(self.threads.backlog) < self._waiting
        return self._all_waiting < self._waiting

    def has_room_for(self, holder: bytes) -> bool:
        """Whether one more request of the holder may wait."""
        return len(self._queues.get(holder, ())) < self._waiting_of_holder

    def submit(self, job: Job, holder: bytes = _NO_HOLDER) -> None:
        if self._of_holder is None:
            self.threads.submit(job)
        elif self._may_run(holder):
            self._start(job, holder)
        else:
            self._queues.setdefault(holder, deque()).append(job)
            self._all_waiting += 1

    def done(self, holder: bytes = _NO_HOLDER) -> None:
        """Called when a submitted job has ended: the next holder's turn."""
        if self._of_holder is None:
            return
        self._all_running -= 1
        self._running[holder] -= 1
        if not self._running[holder]:
            del self._running[holder]
        for waiting in list(self._queues):
            if self._may_run(waiting):
                queue = self._queues.pop(waiting)
                job = queue.popleft()
                self._all_waiting -= 1
                if queue:
                    self._queues[waiting] = queue  # behind the others
                self._start(job, waiting)
                return

    def stop(self) -> None:
        """The threads end, each after its job."""
        self.threads.stop()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most so long for each."""
        self.threads.join(seconds)

    def stands_still(self, seconds: float) -> bool:
        return self.threads.stands_still(seconds, waits=self._all_waiting > 0)

    def _may_run(self, holder: bytes) -> bool:
        assert self._of_holder is not None
        return self._all_running < self.threads.most and self._running[holder] < self._of_holder

    def _start(self, job: Job, holder: bytes) -> None:
        self._running[holder] += 1
        self._all_running += 1
        self.threads.submit(job)
