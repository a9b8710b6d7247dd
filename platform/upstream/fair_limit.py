"""FairLimit: limits concurrent exchanges with one server, shared fairly by holder."""

import asyncio
from collections.abc import Hashable

from webserver.fair_queue import FairQueue

# Waiting calls are refused when no exchange has ended for this long: the server hangs.
STILL_SECONDS = 0.5
_MOST_WAITING = 1_024
_MOST_WAITING_OF_HOLDER = 128


class LimitReached(Exception):
    """The limit of concurrent exchanges is reached, and none of them ends."""


class FairLimit:
    """At most `most` at a time, of one holder at most three in four. For one event loop."""

    def __init__(self, most: int) -> None:
        of_holder = max(1, most - most // 4)
        self._turns: FairQueue[asyncio.Future[None]] = FairQueue(most, of_holder)
        self._last_end = 0.0

    async def take(self, holder: Hashable) -> None:
        """Takes a turn, and waits for one if none is free; raises LimitReached."""
        if self._turns.take(holder):
            return
        waiting, of_holder = self._turns.waiting, self._turns.waiting_of(holder)
        if waiting >= _MOST_WAITING or of_holder >= _MOST_WAITING_OF_HOLDER:
            raise LimitReached
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._turns.append(turn, holder)
        timer = loop.call_later(STILL_SECONDS, self._look, turn, loop.time())
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back(holder)  # cancelled just as its turn came
            raise
        finally:
            timer.cancel()
            self._turns.remove(turn, holder)

    def give_back(self, holder: Hashable) -> None:
        """The exchange has ended: the next holder's turn."""
        self._last_end = asyncio.get_running_loop().time()
        while (following := self._turns.give_back(holder)) is not None:
            turn, holder = following
            if not turn.done():
                turn.set_result(None)
                return
            # Its caller was cancelled or refused a moment ago: the turn goes on.

    def _look(self, turn: "asyncio.Future[None]", since: float) -> None:
        if turn.done():
            return
        loop = asyncio.get_running_loop()
        left = max(since, self._last_end) + STILL_SECONDS - loop.time()
        if left > 0:
            loop.call_later(left, self._look, turn, since)
        else:
            turn.set_exception(LimitReached())
