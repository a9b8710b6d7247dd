"""What differs between the asynchronous client and the synchronous one: this side waits."""

import asyncio

import httpx2
from websockets.asyncio.client import ClientConnection, connect

from tidemark.wire import Request, Response

HttpClient = httpx2.AsyncClient


async def exchange(http: HttpClient, url: str, request: Request, key: str) -> Response:
    """Sends a request → its response. Raises httpx2.TransportError."""
    found = await http.request(
        request.verb,
        url + request.path,
        params=dict(request.query) or None,
        json=request.body,
        headers={"Authorization": key, **request.headers} if key else dict(request.headers),
    )
    return Response(found.status_code, found.headers, found.content)


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def open_socket(url: str, key: str, seconds: float) -> connect:
    """A context manager of the connection. Raises OSError and WebSocketException on entry."""
    headers = {"Authorization": key}
    return connect(url, additional_headers=headers, open_timeout=seconds, close_timeout=1)


async def receive(socket: ClientConnection, seconds: float) -> str | bytes:
    """The next message. Raises TimeoutError, ConnectionClosed."""
    async with asyncio.timeout(seconds):
        return await socket.recv()
