"""PromptAcks: sends a PING after a lone transaction, so that it is acknowledged promptly."""

import asyncio
from collections.abc import Callable
from time import monotonic

# A transaction that follows none for so long is alone; and one that is behind others waits no
# longer than the second for the next.
_ALONE_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 0.005


class PromptAcks:
    """A lone datagram is acknowledged after up to 25 ms, a second one brings it forth at once: else
    every latency would be longer by that, and a loss known later. Among many the next transactions
    do so. `ping` sends a PING if anything waits for its acknowledgement.
    """

    def __init__(self, ping: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ping = ping
        self._timer: asyncio.TimerHandle | None = None
        self._written_at = 0.0

    def written(self) -> None:
        """Transactions were written."""
        before, self._written_at = self._written_at, monotonic()
        if self._written_at - before >= _ALONE_SECONDS:
            self._ping()
        elif self._timer is None:
            self._timer = self._loop.call_later(_LONGEST_WAIT_SECONDS, self._due)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        left = self._written_at + _LONGEST_WAIT_SECONDS - monotonic()
        if left > 0.001:
            self._timer = self._loop.call_later(left, self._due)
        else:
            self._ping()
