"""How late the event loop is: what it reads had waited while it was busy, or had no core."""

import asyncio
import time

_TICK_SECONDS = 0.02
# How many ticks without a request end the measuring: a process at rest is not woken for it.
_QUIET_TICKS = 25


class Turns:
    """Measures one loop by a timer, from the first request of a busy time to its end."""

    def __init__(self) -> None:
        self._due = 0.0  # of the next tick; 0: nothing is measured
        self._late = 0.0  # how late the last one was, in seconds
        self._quiet = 0

    def came_at(self) -> float:
        """The earliest time (monotonic) at which a request can have come that is read now."""
        now = time.monotonic()
        self._quiet = 0
        if not self._due:
            self._measure(now)
        return now - max(self._late, now - self._due, 0.0)

    def _measure(self, now: float) -> None:
        self._due = now + _TICK_SECONDS
        asyncio.get_running_loop().call_later(_TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        now = time.monotonic()
        self._late = now - self._due
        self._quiet += 1
        if self._quiet > _QUIET_TICKS:
            self._due = self._late = 0.0
        else:
            self._measure(now)
