"""Upgraded connections: another protocol than HTTP on a connection, by a handler on the loop."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from websockets.utils import accept_key

if TYPE_CHECKING:
    from webserver.connections import Connection
    from webserver.requests import Request


class Handler(Protocol):
    """What speaks the other protocol. Called on the event loop."""

    def data_received(self, data: bytes) -> None: ...

    def resume_writing(self) -> None:
        """The client has taken what was written."""

    def connection_lost(self) -> None: ...

    def stop(self) -> None:
        """The process stops: say goodbye."""


class Channel:
    """What a handler writes to."""

    __slots__ = ("_connection",)

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    @property
    def is_paused(self) -> bool:
        """The client does not take what was written."""
        return self._connection.is_paused

    @property
    def is_lost(self) -> bool:
        return self._connection.is_lost

    @property
    def unsent(self) -> int:
        """Bytes that were written and not sent."""
        return 0 if self.is_lost else self._connection.transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        if not self._connection.is_lost:
            self._connection.transport.write(data)

    def write_all(self, chunks: list[bytes]) -> None:
        if not self._connection.is_lost:
            self._connection.transport.writelines(chunks)

    def bound_buffer(self, size: int) -> None:
        """Bounds what the system takes for the client."""
        self._connection.bound_buffer(size)

    def pause_reading(self) -> None:
        if not self._connection.is_lost:
            self._connection.transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._connection.is_lost:
            self._connection.transport.resume_reading()

    def finish(self) -> None:
        """Ends the connection once all is sent. What comes meanwhile still goes to the handler: if
        bytes were left unread, the system would reset the connection, and the client lose what was
        sent last.
        """
        transport = self._connection.transport
        if self.is_lost or transport.is_closing():
            return
        if not transport.can_write_eof():
            transport.close()
            return
        transport.resume_reading()
        transport.write_eof()

    def abort(self) -> None:
        self._connection.abort()


# Makes the handler of a connection, once the head of the response was written.
Upgrade = Callable[[Channel], Handler]


def is_websocket(request: "Request") -> bool:
    """Whether the request may be answered by speaking WebSocket."""
    upgrade = request.header(b"upgrade") or b""
    return (
        request.method == "GET"
        and request.version == "1.1"
        and request.length <= 0
        and request.header(b"transfer-encoding") is None
        and upgrade.strip().lower() == b"websocket"
    )


def switching_head(request: "Request", headers: "list[tuple[str, str]]", date: bytes) -> bytes:
    """The head of a response with status 101. The application has checked the handshake
    (webserver.handshakes).
    """
    key = (request.header(b"sec-websocket-key") or b"").decode("latin-1").strip()
    headers = [*headers, ("Sec-WebSocket-Accept", accept_key(key))]
    lines = b"".join(
        f"{name}: {value}\r\n".encode("latin-1")
        for name, value in headers
        if name.lower() not in ("connection", "upgrade", "content-type", "content-length", "date")
    )
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + date
        + lines
        + b"\r\n"
    )
