"""An open load: requests at their times, whether or not earlier ones were answered."""

import select
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Latencies:
    """Seconds from when each request was due to its answer; at the 99th percentile, `late` is how
    late the load itself sent, and `served` how long an answer took from then on.
    """

    count: int
    p50: float
    p99: float
    slowest: float
    late: float
    served: float


class Requests(Protocol):
    """Whole HTTP requests by their number, made beforehand or when they are due."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> bytes: ...


class _Connection:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = self.sent = 0.0
        self.number = 0
        self.received = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def answer(self) -> bytes:
        """Reads once: the whole answer, or nothing yet."""
        self.received += self.socket.recv(65_536)
        head, end, body = self.received.partition(_END_OF_HEAD)
        if not end:
            return b""
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
        if len(body) < int(length):
            return b""
        found, self.received = self.received, b""
        return found


def _require_result(_number: int, answer: bytes) -> None:
    if answer[9:12] != b"200" or b'"result"' not in answer:
        raise RuntimeError(f"answered {answer[:600]!r}")


def send(
    address: tuple[str, int],
    requests: Requests,
    *,
    rate: float,
    connections: int,
    answered: Callable[[int, bytes], None] = _require_result,
    longest: float = 5.0,
) -> Latencies:
    """Sends each request once, `rate` a second, on kept-alive connections that are free. `answered`
    gets each request's number and its answer; without one an answer that is no result raises
    RuntimeError. Raises TimeoutError where `longest` seconds pass without any answer.
    """
    opened = [_Connection(address) for _ in range(connections)]
    free = deque(opened)
    busy: set[_Connection] = set()
    latencies: list[float] = []
    lateness: list[float] = []
    served: list[float] = []
    begun = time.perf_counter() + 0.05
    following = 0
    while len(latencies) < len(requests):
        now = time.perf_counter()
        while following < len(requests) and free and now >= (due := begun + following / rate):
            connection = free.popleft()
            connection.due, connection.number = due, following
            request = requests[following]
            connection.sent = time.perf_counter()
            connection.socket.sendall(request)
            lateness.append(connection.sent - due)
            busy.add(connection)
            following += 1
            now = time.perf_counter()
        wait = longest
        if following < len(requests) and free:
            wait = max(0.0, begun + following / rate - now)
        # select, for its time limit has microseconds and epoll's has none.
        ready, _, _ = select.select(busy, [], [], wait)
        if not ready and wait == longest:
            raise TimeoutError(f"no answer in {longest:g} s")
        now = time.perf_counter()
        for connection in ready:
            if answer := connection.answer():
                answered(connection.number, answer)
                latencies.append(now - connection.due)
                served.append(now - connection.sent)
                busy.remove(connection)
                free.append(connection)
    for connection in opened:
        connection.socket.close()
    latencies.sort()
    lateness.sort()
    served.sort()
    return Latencies(
        count=len(latencies),
        p50=latencies[len(latencies) // 2],
        p99=latencies[int(len(latencies) * 0.99)],
        slowest=latencies[-1],
        late=lateness[int(len(lateness) * 0.99)],
        served=served[int(len(served) * 0.99)],
    )
