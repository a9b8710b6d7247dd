"""WebSocket's handshake (RFC 6455, section 4.2.1), which the package `websockets` checks."""

from collections.abc import Mapping
from typing import Any

from websockets.datastructures import Headers
from websockets.exceptions import InvalidHandshake, InvalidHeader
from websockets.http11 import Request
from websockets.server import ServerProtocol

_HEADERS = ("Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version")


class HandshakeRefused(Exception):
    """The request is not a handshake. `header` is the one that is missing or wrong; empty if it is
    not a GET of HTTP/1.1.
    """

    def __init__(self, header: str) -> None:
        super().__init__(f"not a WebSocket handshake: {header or 'not a GET of HTTP/1.1'}")
        self.header = header


def require_handshake(environ: Mapping[str, Any]) -> None:
    """Checks a request by its WSGI environment. Raises HandshakeRefused."""
    headers = Headers()
    for name in _HEADERS:
        value = environ.get(f"HTTP_{name.upper().replace('-', '_')}")
        if value is not None:
            headers[name] = value.strip()
    request = Request(
        environ["PATH_INFO"],
        headers,
        method=environ["REQUEST_METHOD"],
        protocol=environ["SERVER_PROTOCOL"],
    )
    try:
        ServerProtocol().process_request(request)
    except InvalidHandshake as refused:
        header = refused.name if isinstance(refused, InvalidHeader) else ""
        raise HandshakeRefused(header) from None
