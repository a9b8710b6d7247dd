"""Which connections a process holds, and which of them go when there are too many."""

from collections import Counter, OrderedDict
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from webserver.limits import Limits

if TYPE_CHECKING:
    from webserver.connections import Connection


class Admission:
    """Counts connections in all and per address.

    When there are as many as there may be, the one that has waited longest goes: first those that
    never sent a whole request, then those that lie idle between two. Who is being answered stays.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.connections: set[Connection] = set()
        self.refused = 0
        self.evicted = 0
        self._of_address: Counter[str] = Counter()
        self._new: OrderedDict[Connection, None] = OrderedDict()
        self._idle: OrderedDict[Connection, None] = OrderedDict()
        self._bodies: OrderedDict[Connection, int] = OrderedDict()
        self._bodies_bytes = 0

    def admits(self, address: str) -> bool:
        """Whether one more connection of the address may be opened; makes room for it."""
        held = self._of_address[holder_of(address)]
        if held >= self.limits.connections_per_address and not self.limits.is_proxy(address):
            self.refused += 1
            return False
        if len(self.connections) < self.limits.connections:
            return True
        for waiting in (self._new, self._idle):
            if waiting:
                self.evicted += 1
                next(iter(waiting)).abort()
                return True
        self.refused += 1
        return False

    def add(self, connection: "Connection") -> None:
        self.connections.add(connection)
        self._of_address[holder_of(connection.peer[0])] += 1
        self._new[connection] = None

    def remove(self, connection: "Connection") -> None:
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        holder = holder_of(connection.peer[0])
        self._of_address[holder] -= 1
        if self._of_address[holder] <= 0:
            del self._of_address[holder]
        self.is_busy(connection)

    def is_idle(self, connection: "Connection") -> None:
        """It waits for its next request."""
        self._idle[connection] = None

    def is_busy(self, connection: "Connection") -> None:
        """It has sent a whole request."""
        self._new.pop(connection, None)
        self._idle.pop(connection, None)
        self._bodies_bytes -= self._bodies.pop(connection, 0)

    def receives(self, connection: "Connection", size: int) -> None:
        """So many bytes more of an unfinished body came. Where all of them are more than may be
        held, the oldest go.
        """
        self._bodies[connection] = self._bodies.get(connection, 0) + size
        self._bodies_bytes += size
        while self._bodies_bytes > self.limits.bodies and len(self._bodies) > 1:
            self.evicted += 1
            next(iter(self._bodies)).abort()


@lru_cache(maxsize=8_192)
def holder_of(address: str) -> str:
    """Whom an address stands for: itself, or in IPv6 the /64 that one subscriber has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), 64), strict=False).network_address)
