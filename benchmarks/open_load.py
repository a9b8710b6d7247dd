"""An open load: requests at their times, whether or not earlier ones were answered."""

import select
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Latencies:
    """Seconds from when each request was due to its answer; `late` is how late the load itself sent
    at the 99th percentile.
    """

    count: int
    p50: float
    p99: float
    slowest: float
    late: float


class _Connection:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = 0.0
        self.received = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def is_answered(self) -> bool:
        """Reads once; raises RuntimeError for what is no result."""
        self.received += self.socket.recv(65_536)
        head, end, body = self.received.partition(_END_OF_HEAD)
        if not end:
            return False
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
        if len(body) < int(length):
            return False
        if head[9:12] != b"200" or b'"result"' not in body:
            raise RuntimeError(f"answered {self.received[:600]!r}")
        self.received = b""
        return True


def send(
    address: tuple[str, int], requests: Sequence[bytes], *, rate: float, connections: int
) -> Latencies:
    """Sends each request once, `rate` a second, on kept-alive connections that are free."""
    opened = [_Connection(address) for _ in range(connections)]
    free = deque(opened)
    busy: set[_Connection] = set()
    latencies: list[float] = []
    lateness: list[float] = []
    begun = time.perf_counter() + 0.05
    following = 0
    while len(latencies) < len(requests):
        now = time.perf_counter()
        while following < len(requests) and free and now >= (due := begun + following / rate):
            connection = free.popleft()
            connection.due = due
            connection.socket.sendall(requests[following])
            lateness.append(now - due)
            busy.add(connection)
            following += 1
            now = time.perf_counter()
        wait = 5.0
        if following < len(requests) and free:
            wait = max(0.0, begun + following / rate - now)
        # select, for its time limit has microseconds and epoll's has none.
        ready, _, _ = select.select(busy, [], [], wait)
        if not ready and wait == 5.0:
            raise TimeoutError("no answer in 5 s")
        now = time.perf_counter()
        for connection in ready:
            if connection.is_answered():
                latencies.append(now - connection.due)
                busy.remove(connection)
                free.append(connection)
    for connection in opened:
        connection.socket.close()
    latencies.sort()
    lateness.sort()
    return Latencies(
        count=len(latencies),
        p50=latencies[len(latencies) // 2],
        p99=latencies[int(len(latencies) * 0.99)],
        slowest=latencies[-1],
        late=lateness[int(len(lateness) * 0.99)],
    )
