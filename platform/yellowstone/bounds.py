"""What all connections of the process share: places, time of the loop, and bytes of requests."""

from collections import Counter
from typing import TYPE_CHECKING

from gateway.addresses import is_trusted
from webserver.address_groups import holder_of
from webserver.paced_input import Share, Shares

if TYPE_CHECKING:
    from yellowstone.transport import Http2

# Bytes of requests that are not whole yet: one request may have four megabytes.
MOST_UNFINISHED = 64 * 1_048_576
MOST_UNFINISHED_OF_CONNECTION = 8 * 1_048_576


class Bounds:
    """Used on the loop. A trusted proxy stands for many clients: its connections are not counted by
    address, and each has a share of its own.
    """

    def __init__(self, *, most: int, most_of_address: int) -> None:
        self.connections: set[Http2] = set()
        self.unfinished = 0
        self._most = most
        self._most_of_address = most_of_address
        self._of_address: Counter[str] = Counter()
        self._shares = Shares()

    def enter(self, connection: "Http2") -> bool:
        """Whether one more connection of its peer may be open; then it is counted."""
        holder = holder_of(connection.peer)
        is_one_client = not is_trusted(connection.peer)
        if len(self.connections) >= self._most:
            return False
        if is_one_client and self._of_address[holder] >= self._most_of_address:
            return False
        self.connections.add(connection)
        self._of_address[holder] += 1
        return True

    def leave(self, connection: "Http2") -> None:
        if connection in self.connections:
            self.connections.discard(connection)
            holder = holder_of(connection.peer)
            self._of_address[holder] -= 1
            if not self._of_address[holder]:
                del self._of_address[holder]

    def share(self, peer: str, now: float) -> Share:
        return Share(now) if is_trusted(peer) else self._shares.of(holder_of(peer), now)

    @property
    def has_too_many_unfinished(self) -> bool:
        return self.unfinished > MOST_UNFINISHED
