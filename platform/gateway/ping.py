"""GET …/ping: keeps a connection open, without a key and without quota."""

from dataclasses import dataclass
from typing import Any, Literal

from rest_framework.response import Response

from gateway.permissions import ServedByHost
from gateway.views import ReadView
from jsonrpc.wire import encode


@dataclass(frozen=True, slots=True)
class Pong:
    """The response, always the same.

    result: always `pong`
    """

    result: Literal["pong"]


_PONG = encode(Pong("pong"))


class Ping(ReadView):
    """Answered on the server's event loop (gateway.edge): it must not wait."""

    name = "ping"
    result = Pong
    authentication_classes = ()
    permission_classes = (ServedByHost,)
    allows_head = True

    def get(self, request: Any, **path: str) -> Response:
        """Call it once a minute to keep the connection open for fast calls later. It needs no key
        and counts against no limit.
        """
        return Response(_PONG)

    def count(self, seconds: float, status: int) -> None:
        """Pings are not counted as usage."""
