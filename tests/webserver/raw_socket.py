"""A WebSocket whose client sends any bytes and reads frames."""

import socket as sockets
import struct
from contextlib import suppress

from tests.patience import PATIENCE_SECONDS

HEAD = (
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
)


def frame(first: int, data: bytes = b"", *, masked: bool = True) -> bytes:
    """A frame with this first byte, masked with zeros."""
    size = len(data)
    flag = 0x80 if masked else 0
    if size < 126:
        head = bytes((first, flag | size))
    elif size < 65_536:
        head = bytes((first, flag | 126)) + struct.pack(">H", size)
    else:
        head = bytes((first, flag | 127)) + struct.pack(">Q", size)
    return head + (bytes(4) if masked else b"") + data


class Raw:
    """A connection at an endpoint's path."""

    def __init__(self, port: int, key: str, path: str = "/") -> None:
        self._socket = sockets.create_connection(("127.0.0.1", port))
        self._socket.settimeout(PATIENCE_SECONDS)
        self._socket.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        head = HEAD.replace("GET / ", f"GET {path} ")
        self._socket.sendall(f"{head}Authorization: {key}\r\n\r\n".encode())
        self._file = self._socket.makefile("rb")
        line = self._file.readline()
        assert line.startswith(b"HTTP/1.1 101 "), line
        while self._file.readline() != b"\r\n":
            pass

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self._socket.sendall(part)

    def give_up_after(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def receive(self) -> tuple[int, bytes]:
        """The first byte of the next frame, and its content. Raises EOFError when there is none."""
        head = self._file.read(2)
        if not head:
            raise EOFError
        first, size = head
        if size == 126:
            (size,) = struct.unpack(">H", self._file.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._file.read(8))
        return first, self._file.read(size)

    def code(self) -> int:
        """The code of the close frame that comes next; then the connection ends."""
        first, data = self.receive()
        assert first == 0x88, (first, data)
        with suppress(ConnectionError):  # who broke the rules is not waited for
            self.send(frame(0x88, data[:2]))
            assert self.is_over
        return int.from_bytes(data[:2], "big")

    @property
    def is_over(self) -> bool:
        """The server has ended the connection."""
        return self._file.read(1) == b""

    def close(self) -> None:
        self._file.close()
        self._socket.close()
