"""GET …/ping: the least that keeps a connection open; it asks for no key and takes no quota."""

from dataclasses import dataclass
from typing import Any, Literal

from rest_framework.response import Response

from gateway.views import ReadView
from jsonrpc.wire import encode


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer, always the same.

    result: the word
    """

    result: Literal["pong"]


_PONG = encode(Pong("pong"))


class Ping(ReadView):
    """Answered on the server's event loop (gateway.edge): it may wait for nothing."""

    name = "ping"
    result = Pong
    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    allows_head = True

    def get(self, request: Any, **path: str) -> Response:
        """Nothing but an answer: call it once a minute, and the connection stays open for what is
        to be fast later. It takes no key and counts against no limit.
        """
        return Response(_PONG)

    def count(self, status: str, seconds: float) -> None:
        """Pings are nobody's usage."""
