"""A lane: threads for one kind of request, shared fairly among callers."""

from webserver.fair_queue import FairQueue
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
        self._waiting = waiting
        self._waiting_of_holder = waiting if waiting_of_holder is None else waiting_of_holder
        self._turns: FairQueue[Job] | None = None
        if of_holder is not None:
            self._turns = FairQueue(threads, of_holder)

    def has_room(self) -> bool:
        """Whether one more request may wait at all."""
        waiting = len(self.threads.backlog) if self._turns is None else self._turns.waiting
        return waiting < self._waiting

    def has_room_for(self, holder: bytes) -> bool:
        """Whether one more request of the holder may wait."""
        return self._turns is None or self._turns.waiting_of(holder) < self._waiting_of_holder

    def submit(self, job: Job, holder: bytes = _NO_HOLDER) -> None:
        if self._turns is None or self._turns.take(holder):
            self.threads.submit(job)
        else:
            self._turns.append(job, holder)

    def done(self, holder: bytes = _NO_HOLDER) -> None:
        """Called when a submitted job has ended: the next holder's turn."""
        following = None if self._turns is None else self._turns.give_back(holder)
        if following is not None:
            self.threads.submit(following[0])

    def stop(self) -> None:
        """The threads end, each after its job."""
        self.threads.stop()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most so long for each."""
        self.threads.join(seconds)

    def stands_still(self, seconds: float) -> bool:
        waits = self._turns is not None and self._turns.waiting > 0
        return self.threads.stands_still(seconds, waits=waits)
