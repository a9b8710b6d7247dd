"""What requests cost, charged to the addresses they come from unless their sender is known.

A key and a session have limits of their own. Everything else that the server does for a client,
from reading its bytes to the page that it answers with, is paid from the share of its address.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from webserver.address_groups import holder_of
from webserver.paced_input import Share, Shares
from webserver.requests import Request

if TYPE_CHECKING:
    from webserver.connections import Connection

# What a request of an unknown sender is charged before it is answered, and what it took on the
# loop: answered by the server itself, or by the application. Threads measure it.
ESTIMATE = 0.001
BY_SERVER = 0.000_05
ON_LOOP = 0.000_3
# Who would have to wait longer is refused then.
LONGEST_WAIT = 10.0
# Seconds of work for an address at once: a page with all that it loads.
_AT_ONCE = 0.1
# Refusals of senders that are known to the application.
_REFUSALS = frozenset({401, 403, 429})

# The client of a request that came through a proxy, whose address is the second argument.
ClientOf = Callable[[Request, str], str]


def peer(_request: Request, address: str) -> str:
    return address


class Charges:
    """Used on one loop. A proxy stands for many clients: reading what it sends is not bounded, and
    its requests are charged to the clients that it names.
    """

    def __init__(self, is_proxy: Callable[[str], bool], client_of: ClientOf) -> None:
        self._is_proxy = is_proxy
        self._client_of = client_of
        self._reading = Shares()
        self._requests = Shares(at_once=_AT_ONCE)

    def share_of(self, address: str) -> Share:
        """Of the loop's time for reading what the address sends."""
        now = time.monotonic()
        if self._is_proxy(address):
            return Share.unbounded(now)
        return self._reading.of(holder_of(address), now)

    def begin(self, connection: "Connection", request: Request) -> float:
        """How many seconds the request has to wait, for which an estimate is charged; one that is
        like another of a known sender is free.
        """
        if request.shared is not None and request.shared.is_known:
            return 0.0
        share = request.share = self._share_for(connection, request)
        return share.charge(ESTIMATE, time.monotonic())

    def settle(
        self, connection: "Connection", request: Request, seconds: float, *, is_known: bool = False
    ) -> None:
        """The request took so long: charged in place of the estimate unless its sender is known."""
        share, request.share = request.share, None
        if request.shared is not None:
            request.shared.is_known = is_known
        took = 0.0 if is_known else seconds
        if share is not None:
            share.charge(took - ESTIMATE, time.monotonic())
        elif took:
            self._share_for(connection, request).charge(took, time.monotonic())

    def _share_for(self, connection: "Connection", request: Request) -> Share:
        client = connection.peer[0]
        if self._is_proxy(client):
            client = self._client_of(request, client)
        return self._requests.of(holder_of(client), time.monotonic())


def is_admitted(is_known: bool, status: int) -> bool:
    """Whether the application knew the sender of a request that it answered so, and admitted it."""
    return is_known and status not in _REFUSALS
