"""A load of prepared requests over kept-alive connections, measured from the client's side."""

import itertools
import math
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Figures:
    """What a load saw; seconds but for the rate."""

    rate: float
    p50: float
    p99: float
    bytes_read: int
    answers: int

    @property
    def bytes_each(self) -> float:
        """Of an answer with its head."""
        return self.bytes_read / self.answers


class _Connection:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray(1 << 20)
        self.begun = 0.0
        self.wanted = 0  # bytes of the answer still to come; 0 before its head is read
        self.head = b""

    def send(self, request: bytes) -> None:
        self.begun = time.perf_counter()
        self.wanted, self.head = 0, b""
        self.socket.sendall(request)

    def receive(self) -> tuple[bool, int]:
        """Reads once: is the answer whole, and how many bytes came."""
        count = self.socket.recv_into(self.buffer)
        if count == 0:
            raise ConnectionError("the server closed the connection")
        if self.wanted:
            self.wanted -= count
        else:
            self.head += bytes(self.buffer[:count])
            end = self.head.find(_END_OF_HEAD)
            if end < 0:
                return False, count
            status = self.head[9:12]
            if status != b"200":
                raise RuntimeError(f"answered {self.head[:400]!r}")
            # A JSON-RPC error is a success of HTTP.
            if b',"error":{"code":' in self.head[end : end + 80]:
                raise RuntimeError(f"answered {self.head[:800]!r}")
            self.wanted = end + 4 + _content_length(self.head[:end]) - len(self.head)
        return self.wanted == 0, count


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise RuntimeError(f"no Content-Length in {head!r}")


def run(
    address: tuple[str, int],
    requests: Sequence[bytes],
    *,
    connections: int,
    seconds: float = math.inf,
    answers: float = math.inf,
) -> Figures:
    """Sends the requests one after the other, round and round, on every connection: for so many
    seconds, or until so many were answered.
    """
    selector = selectors.DefaultSelector()
    latencies: list[float] = []
    bytes_read = 0
    opened = [_Connection(address) for _ in range(connections)]
    following = itertools.cycle(requests).__next__

    begun = time.perf_counter()
    end = begun + seconds
    for connection in opened:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send(following())
    now = begun
    while now < end and len(latencies) < answers:
        ready = [key.data for key, _ in selector.select(5)] if connections > 1 else opened
        if not ready:
            raise TimeoutError("no answer in 5 s")
        for connection in ready:
            whole, count = connection.receive()
            bytes_read += count
            if whole:
                now = time.perf_counter()
                latencies.append(now - connection.begun)
                connection.send(following())
    for connection in opened:
        connection.socket.close()
    latencies.sort()
    return Figures(
        rate=len(latencies) / (now - begun),
        p50=latencies[len(latencies) // 2],
        p99=latencies[int(len(latencies) * 0.99)],
        bytes_read=bytes_read,
        answers=len(latencies),
    )


def exchange(address: tuple[str, int], request: bytes) -> bytes:
    """One request's whole body."""
    with socket.create_connection(address) as connection:
        connection.sendall(request)
        received = b""
        while _END_OF_HEAD not in received:
            received += connection.recv(1 << 20)
        head, _, body = received.partition(_END_OF_HEAD)
        if head[9:12] != b"200":
            raise RuntimeError(f"answered {head!r} {body[:400]!r}")
        length = _content_length(head)
        pieces = [body]
        missing = length - len(body)
        while missing > 0:
            piece = connection.recv(1 << 20)
            missing -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)
