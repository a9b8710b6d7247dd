"""Bytes of responses that clients have not read yet, over all connections."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from webserver.admission import Admission
from webserver.limits import Limits

if TYPE_CHECKING:
    from webserver.connections import Connection


class Unsent:
    """Looked at every moment on the loop."""

    def __init__(self, admission: Admission, limits: Limits) -> None:
        self._admission = admission
        self._limits = limits
        self._draining: list[tuple[Connection, Callable[[], None]]] = []
        # Bytes of each connection, and since when they are as many.
        self._sizes: dict[Connection, tuple[int, float]] = {}

    def on_drained(self, connection: "Connection", sent: Callable[[], None]) -> None:
        """Calls `sent` once the client has taken everything, or is gone."""
        self._draining.append((connection, sent))

    def look(self, now: float) -> None:
        """Ends the connections of clients that take nothing, or whose answers are too many."""
        waiting, total = {}, 0
        for connection in list(self._admission.connections):
            size = connection.transport.get_write_buffer_size()
            if size == 0:
                continue
            before, since = self._sizes.get(connection, (0, now))
            if size != before:
                since = now
            elif now - since > self._limits.write_seconds:
                connection.abort()
                continue
            waiting[connection] = (size, since)
            total += size
        self._sizes = waiting
        for connection, (size, _since) in sorted(waiting.items(), key=lambda each: each[1][1]):
            if total <= self._limits.answers:
                break
            connection.abort()
            total -= size
        if self._draining:
            self._give_back()

    def _give_back(self) -> None:
        still = []
        for connection, sent in self._draining:
            if connection.is_lost or not connection.transport.get_write_buffer_size():
                sent()
            else:
                still.append((connection, sent))
        self._draining = still
