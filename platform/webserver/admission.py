"""Admits connections, and selects which to close when there are too many."""

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

from webserver.address_groups import holder_of
from webserver.limits import Limits

if TYPE_CHECKING:
    from webserver.connections import Connection


class Admission:
    """Counts connections in all and per address.

    When there are as many as there may be, the one that has waited longest goes: first those that
    never sent a whole request, then those that lie idle between two, then those that do not take
    what they are answered. Who is being answered stays.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.connections: set[Connection] = set()
        self.refused = 0
        self.evicted = 0
        self._held = 0
        self._of_address: Counter[str] = Counter()
        self._new: OrderedDict[Connection, None] = OrderedDict()
        self._idle: OrderedDict[Connection, None] = OrderedDict()
        self._blocked: OrderedDict[Connection, None] = OrderedDict()
        self._bodies: OrderedDict[Connection, int] = OrderedDict()
        self._bodies_bytes = 0

    def admits(self, address: str) -> bool:
        """Whether one more connection of the address may be opened; it is counted, and room is made
        for it.
        """
        holder = holder_of(address)
        too_many = self._of_address[holder] >= self.limits.connections_per_address
        if too_many and not self.limits.is_proxy(address):
            self.refused += 1
            return False
        if self._held >= self.limits.connections and not self.makes_room():
            self.refused += 1
            return False
        self._held += 1
        self._of_address[holder] += 1
        return True

    def makes_room(self) -> bool:
        """Closes the connection that has waited longest; False if none waits."""
        for waiting in (self._new, self._idle, self._blocked):
            if waiting:
                self.evicted += 1
                next(iter(waiting)).abort()
                return True
        return False

    def add(self, connection: "Connection") -> None:
        """An admitted connection is open."""
        self.connections.add(connection)
        self._new[connection] = None

    def remove(self, connection: "Connection") -> None:
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        self.give_back(connection.peer[0])
        self.is_busy(connection)
        self._blocked.pop(connection, None)

    def give_back(self, address: str) -> None:
        """An admitted connection is closed, or was never opened."""
        self._held -= 1
        holder = holder_of(address)
        self._of_address[holder] -= 1
        if self._of_address[holder] <= 0:
            del self._of_address[holder]

    @property
    def has_idle(self) -> bool:
        """Whether a connection waits for its next request, or its first."""
        return any(each.is_idle for each in self.connections)

    def is_idle(self, connection: "Connection") -> None:
        """It waits for its next request."""
        self._idle[connection] = None

    def is_busy(self, connection: "Connection") -> None:
        """It has sent a whole request."""
        self._new.pop(connection, None)
        self._idle.pop(connection, None)
        self._bodies_bytes -= self._bodies.pop(connection, 0)

    def is_blocked(self, connection: "Connection") -> None:
        """It does not take what it is sent."""
        self._blocked[connection] = None

    def is_read(self, connection: "Connection") -> None:
        """It takes what it is sent."""
        self._blocked.pop(connection, None)

    def receives(self, connection: "Connection", size: int) -> None:
        """So many bytes more of an unfinished request came. Where all of them are more than may be
        held, the oldest go.
        """
        self._bodies[connection] = self._bodies.get(connection, 0) + size
        self._bodies_bytes += size
        while self._bodies_bytes > self.limits.bodies and len(self._bodies) > 1:
            self.evicted += 1
            next(iter(self._bodies)).abort()
