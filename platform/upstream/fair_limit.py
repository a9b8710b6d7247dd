"""FairLimit: limits concurrent exchanges with one server, shared fairly by holder."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable

# Waiting calls are refused when no exchange has ended for this long: the server hangs.
STILL_SECONDS = 0.5
_MOST_WAITING = 1_024
_MOST_WAITING_OF_HOLDER = 128


class LimitReached(Exception):
    """The limit of concurrent exchanges is reached, and none of them ends."""


class FairLimit:
    """At most `most` at a time, of one holder at most three in four. For one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_holder = max(1, most - most // 4)
        self._running: Counter[Hashable] = Counter()
        self._all_running = 0
        self._queues: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._all_waiting = 0
        self._last_end = 0.0

    def take_now(self, holder: Hashable) -> bool:
        """Takes a turn if one is free for the holder."""
        if self._all_running >= self._most or self._running[holder] >= self._of_holder:
            return False
        self._all_running += 1
        self._running[holder] += 1
        return True

    async def take(self, holder: Hashable) -> None:
        """Waits for a turn; raises LimitReached."""
        queue = self._queues.get(holder, ())
        if self._all_waiting >= _MOST_WAITING or len(queue) >= _MOST_WAITING_OF_HOLDER:
            raise LimitReached
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._queues.setdefault(holder, deque()).append(turn)
        self._all_waiting += 1
        timer = loop.call_later(STILL_SECONDS, self._look, turn, loop.time())
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back(holder)  # cancelled just as its turn came
            raise
        finally:
            timer.cancel()
            self._forget(holder, turn)

    def give_back(self, holder: Hashable) -> None:
        """The exchange has ended: the next holder's turn."""
        self._last_end = asyncio.get_running_loop().time()
        self._all_running -= 1
        self._running[holder] -= 1
        if not self._running[holder]:
            del self._running[holder]
        if not self._all_waiting:
            return
        for waiting in list(self._queues):
            queue = self._queues[waiting]
            if queue and self.take_now(waiting):
                turn = queue.popleft()
                self._all_waiting -= 1
                self._queues.move_to_end(waiting)  # behind the others
                if not queue:
                    del self._queues[waiting]
                turn.set_result(None)
                return

    def _look(self, turn: "asyncio.Future[None]", since: float) -> None:
        if turn.done():
            return
        loop = asyncio.get_running_loop()
        left = max(since, self._last_end) + STILL_SECONDS - loop.time()
        if left > 0:
            loop.call_later(left, self._look, turn, since)
        else:
            turn.set_exception(LimitReached())

    def _forget(self, holder: Hashable, turn: "asyncio.Future[None]") -> None:
        queue = self._queues.get(holder)
        if queue is not None and turn in queue:
            queue.remove(turn)
            self._all_waiting -= 1
            if not queue:
                del self._queues[holder]
