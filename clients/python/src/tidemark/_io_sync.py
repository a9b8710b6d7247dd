"""What differs between the asynchronous client and the synchronous one: this side blocks."""

import time

import httpx2
from websockets.sync.client import ClientConnection, connect

from tidemark.wire import Request, Response

HttpClient = httpx2.Client


def exchange(http: HttpClient, url: str, request: Request, key: str) -> Response:
    """Sends a request → its response. Raises httpx2.TransportError."""
    found = http.request(
        request.verb,
        url + request.path,
        params=dict(request.query) or None,
        json=request.body,
        headers={"Authorization": key, **request.headers} if key else dict(request.headers),
    )
    return Response(found.status_code, found.headers, found.content)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def open_socket(url: str, key: str, seconds: float) -> ClientConnection:
    """A context manager of the connection. Raises OSError and WebSocketException."""
    headers = {"Authorization": key}
    return connect(url, additional_headers=headers, open_timeout=seconds, close_timeout=1)


def receive(socket: ClientConnection, seconds: float) -> str | bytes:
    """The next message. Raises TimeoutError, ConnectionClosed."""
    return socket.recv(timeout=seconds)
