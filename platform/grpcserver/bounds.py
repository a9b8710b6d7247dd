"""What all connections share: places, calls, time of the loop, and bytes of requests."""

import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from webserver.address_groups import holder_of
from webserver.paced_input import Share, Shares

if TYPE_CHECKING:
    from grpcserver.transport import Http2

# Bytes of requests that are not whole yet: one request may have four megabytes.
MOST_UNFINISHED = 64 * 1_048_576
MOST_UNFINISHED_OF_CONNECTION = 8 * 1_048_576
# Calls a second that an address may begin, and at once.
_CALLS_PER_SECOND = 200.0
_CALLS_AT_ONCE = 2_000.0


class Bounds:
    """Used on the loop. A trusted proxy (`is_proxy` of its address) stands for many clients: its
    connections are not counted by address, and each has shares of its own.
    """

    def __init__(self, *, most: int, most_of_address: int, is_proxy: Callable[[str], bool]) -> None:
        self.connections: dict[Http2, None] = {}
        self.unfinished = 0
        self._most = most
        self._most_of_address = most_of_address
        self._is_proxy = is_proxy
        self._of_address: Counter[str] = Counter()
        self._shares = Shares()
        self._calls = Shares(rate=_CALLS_PER_SECOND, at_once=_CALLS_AT_ONCE)

    @classmethod
    def none(cls) -> Self:
        """For a port whose clients are all this machine's own."""
        return cls(most=sys.maxsize, most_of_address=sys.maxsize, is_proxy=lambda _peer: True)

    def enter(self, connection: "Http2") -> bool:
        """Whether one more connection of its peer may be open; then it is counted. Where there are
        as many as there may be, the oldest that never had a call is closed for it, or the oldest
        without one.
        """
        holder = holder_of(connection.peer)
        is_one_client = not self._is_proxy(connection.peer)
        if is_one_client and self._of_address[holder] >= self._most_of_address:
            return False
        if len(self.connections) >= self._most:
            idle = [each for each in self.connections if each.is_idle]
            if not idle:
                return False
            next((each for each in idle if not each.has_called), idle[0]).go_away()
        self.connections[connection] = None
        self._of_address[holder] += 1
        return True

    def leave(self, connection: "Http2") -> None:
        if connection in self.connections:
            del self.connections[connection]
            holder = holder_of(connection.peer)
            self._of_address[holder] -= 1
            if not self._of_address[holder]:
                del self._of_address[holder]

    def share(self, peer: str, now: float) -> Share:
        return self._share(self._shares, peer, now)

    def calls(self, peer: str, now: float) -> Share:
        """How many calls the peer may begin: over all of its connections, or a client that is
        disconnected for too many would come again.
        """
        return self._share(self._calls, peer, now)

    def _share(self, shares: Shares, peer: str, now: float) -> Share:
        return shares.new(now) if self._is_proxy(peer) else shares.of(holder_of(peer), now)

    @property
    def has_too_many_unfinished(self) -> bool:
        return self.unfinished > MOST_UNFINISHED
