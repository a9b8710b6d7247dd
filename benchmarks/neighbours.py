"""Neighbours of an attack: clients that keep their connections, call steadily, and note how long
each answer takes. One thread serves all of them.
"""

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import hpack

from benchmarks.service import rpc_request

# A client calls again so long after its last call began, or once that is answered.
_EVERY_SECONDS = 0.02
# What is not answered by then counts as much.
_MOST_SECONDS = 20.0

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
)


def http2_frame(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def grpc_headers(path: str, key: str | None) -> bytes:
    """The header block of a call; it depends on no other block of the connection."""
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        *([] if key is None else [("x-token", key)]),
    ]
    return encoder.encode(fields)


def websocket_frame(first: int, data: bytes) -> bytes:
    """A frame with this first byte, masked with zeros, of at most 65,535 bytes."""
    size = len(data)
    head = bytes((first, 0x80 | size)) if size < 126 else struct.pack(">BBH", first, 0xFE, size)
    return head + bytes(4) + data


class Neighbour:
    """A connection with at most one call under way."""

    def __init__(self, port: int) -> None:
        self.failures = 0
        self.latencies: list[float] = []
        self.begun = 0.0
        self.is_waiting = False
        self._port = port
        self.socket = self._opened()

    def _opened(self) -> socket.socket:
        found = socket.create_connection(("127.0.0.1", self._port), timeout=_MOST_SECONDS)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.greet(found)
        return found

    def greet(self, opened: socket.socket) -> None:
        """What comes before the first call."""

    def request(self) -> bytes:
        """The next call."""
        raise NotImplementedError

    def is_answered(self, data: bytes) -> bool:
        """Whether the answer is whole with these bytes. Raises ValueError for another answer."""
        raise NotImplementedError

    def call(self, now: float) -> None:
        self.begun, self.is_waiting = now, True
        try:
            self.socket.sendall(self.request())
        except OSError:
            self.fail()

    def receive(self) -> None:
        try:
            data = self.socket.recv(262_144)
            if not data:
                raise ConnectionResetError
            if self.is_answered(data):
                self.latencies.append(time.perf_counter() - self.begun)
                self.is_waiting = False
        except (OSError, ValueError):
            self.fail()

    def fail(self) -> None:
        """The call has no answer: it counts as failed, and the connection is opened again."""
        self.failures += 1
        self.is_waiting = False
        self.socket.close()
        with suppress(OSError):
            self.socket = self._opened()


class Http(Neighbour):
    """getSlot of the ledger."""

    def __init__(self, port: int, key: str) -> None:
        self._request = rpc_request(key, "getSlot", [])
        self._received = b""
        super().__init__(port)

    def request(self) -> bytes:
        self._received = b""
        return self._request

    def is_answered(self, data: bytes) -> bool:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or not body.endswith(b"}"):
            return False
        if b'"result"' not in body:
            raise ValueError(head)
        return True


class WebSocket(Neighbour):
    """A call by WebSocket that is answered at once."""

    _CALL = b'{"jsonrpc":"2.0","id":7,"method":"slotUnsubscribe","params":[1]}'

    def __init__(self, port: int, key: str) -> None:
        self._head = HANDSHAKE + b"Authorization: " + key.encode() + b"\r\n\r\n"
        super().__init__(port)

    def greet(self, opened: socket.socket) -> None:
        opened.sendall(self._head)
        received = b""
        while b"\r\n\r\n" not in received:
            received += opened.recv(4_096)
        if not received.startswith(b"HTTP/1.1 101"):
            raise ConnectionRefusedError(received)

    def request(self) -> bytes:
        return websocket_frame(0x81, self._CALL)

    def is_answered(self, data: bytes) -> bool:
        if data[0] == 0x88:
            raise ValueError("closed")
        return b'"id":7' in data


class Grpc(Neighbour):
    """Unary calls of GetSlot."""

    def __init__(self, port: int, key: str) -> None:
        self._headers = grpc_headers("/geyser.Geyser/GetSlot", key)
        self._stream = -1
        self._received = b""
        super().__init__(port)

    def greet(self, opened: socket.socket) -> None:
        self._stream, self._received = -1, b""
        settings = struct.pack(">HI", 4, 2**31 - 1)
        window = struct.pack(">I", 2**31 - 65_536)
        opened.sendall(PREFACE + http2_frame(4, settings) + http2_frame(8, window))
        opened.sendall(http2_frame(4, flags=1))

    def request(self) -> bytes:
        self._stream += 2
        headers = http2_frame(1, self._headers, flags=4, stream=self._stream)
        return headers + http2_frame(0, bytes(5), flags=1, stream=self._stream)

    def is_answered(self, data: bytes) -> bool:
        """It ends with trailers behind a message."""
        self._received += data
        has_message = False
        for kind, flags, stream in self._frames():
            if kind == 7 or (kind == 3 and stream == self._stream):
                raise ValueError("ended")
            if stream == self._stream:
                has_message = has_message or kind == 0
                if kind == 1 and flags & 1:
                    if not has_message:
                        raise ValueError("refused")
                    self._received = b""
                    return True
        return False

    def _frames(self) -> Iterator[tuple[int, int, int]]:
        """The whole frames that came since the last answer."""
        place = 0
        while place + 9 <= len(self._received):
            size = int.from_bytes(self._received[place : place + 3], "big")
            if place + 9 + size > len(self._received):
                return
            kind, flags, stream = struct.unpack_from(">BBI", self._received, place + 3)
            yield kind, flags, stream
            place += 9 + size


def measure(
    neighbours: Sequence[Neighbour], seconds: float, look: Callable[[], None]
) -> tuple[list[float], int]:
    """The latencies of calls that began in so many seconds, sorted, and how many calls failed.
    `look` is called about twice a second.
    """
    for each in neighbours:
        each.latencies, each.failures = [], 0
    began = time.perf_counter()
    end = began + seconds
    looked = 0.0
    while True:
        now = time.perf_counter()
        late = [each for each in neighbours if each.is_waiting and now - each.begun > _MOST_SECONDS]
        for each in late:
            each.latencies.append(now - each.begun)
            each.fail()
        waiting = [each for each in neighbours if each.is_waiting]
        if now >= end and not waiting:
            break
        if now < end:
            for each in neighbours:
                if not each.is_waiting and now - each.begun >= _EVERY_SECONDS:
                    each.call(now)
        if now - looked > 0.5:
            looked = now
            look()
        asked = {each.socket: each for each in neighbours if each.is_waiting}
        ready, _, _ = select.select(asked, (), (), 0.002)
        for found in ready:
            asked[found].receive()
    latencies = sorted(found for each in neighbours for found in each.latencies)
    return latencies, sum(each.failures for each in neighbours)
