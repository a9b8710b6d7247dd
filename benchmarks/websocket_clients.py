"""WebSocket clients that cost little: many thousands in one process."""

import asyncio
import base64
import os
import struct
import time
from collections.abc import Callable
from typing import Self


class Closed(Exception):
    """The server closed the connection; the text has the close frame's words."""


class WebSocket(asyncio.Protocol):
    """A client that sends texts, and hands each text that comes to `take` with its moment. No
    extension; frames of the server are taken as they are.
    """

    def __init__(self, take: Callable[[bytes, float], None]) -> None:
        self.take = take
        self.closed = ""
        self._buffer = bytearray()
        self._parts = bytearray()
        self._transport: asyncio.Transport | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(
        cls, host: str, port: int, path: str, take: Callable[[bytes, float], None]
    ) -> Self:
        """Raises Closed and OSError."""
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: cls(take), host, port)
        key = base64.b64encode(os.urandom(16)).decode()
        assert made._transport is not None
        made._transport.write(
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        await made._ready
        return made

    def send(self, text: bytes) -> None:
        """One text of less than 64 kB, masked with zeros."""
        size = len(text)
        head = bytes([0x81, 0x80 | size]) if size < 126 else struct.pack(">BBH", 0x81, 0xFE, size)
        assert self._transport is not None
        self._transport.write(head + b"\0\0\0\0" + text)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # --- from the loop ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, _error: Exception | None) -> None:
        self.closed = self.closed or "connection lost"
        if not self._ready.done():
            self._ready.set_exception(Closed(self.closed))

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self._buffer += data
        if not self._ready.done():
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not self._buffer.startswith(b"HTTP/1.1 101"):
                self.closed = self._buffer[:80].decode("latin-1")
                self._ready.set_exception(Closed(self.closed))
                self.close()
                return
            del self._buffer[: end + 4]
            self._ready.set_result(None)
        while self._frame(now):
            pass

    def _frame(self, now: float) -> bool:
        buffer = self._buffer
        if len(buffer) < 2:
            return False
        size, at = buffer[1] & 0x7F, 2
        if size >= 126:
            at = 4 if size == 126 else 10
            if len(buffer) < at:
                return False
            size = int.from_bytes(buffer[2:at], "big")
        if len(buffer) < at + size:
            return False
        is_last, kind = buffer[0] & 0x80, buffer[0] & 0x0F
        body = bytes(buffer[at : at + size])
        del buffer[: at + size]
        if kind == 8:
            self.closed = body[2:].decode("utf-8", "replace") or "closed"
        elif kind == 9 and self._transport is not None:
            self._transport.write(bytes([0x8A, 0x80 | len(body)]) + b"\0\0\0\0" + body)
        elif kind in (0, 1, 2):
            self._parts += body
            if is_last:
                text = bytes(self._parts)
                self._parts.clear()
                self.take(text, now)
        return True
