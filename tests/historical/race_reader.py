"""Sends the same few requests over and over on several connections, and logs when each was sent,
when its answer had come, and what it was. A process of its own, without Django.

`race_reader.py ADDRESSES CONNECTIONS READS SEED LOG`: addresses as host:port with commas between,
whole HTTP requests as a JSON list on standard input. Every line of the log is a read (`_LINE`);
the answers' bodies, each once, stand in the file LOG.answers, one a line.
"""

import json
import random
import selectors
import socket
import struct
import sys
import time
from pathlib import Path

# Sent and received in nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share; the
# numbers of connection, request and answer.
LINE = struct.Struct("<qqHHI")
_SILENCE_SECONDS = 300.0


class _Connection:
    def __init__(self, address: str, number: int) -> None:
        host, _, port = address.rpartition(":")
        self.number = number
        self.socket = socket.create_connection((host, int(port)), _SILENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.request = 0
        self.sent = 0

    def send(self, number: int, request: bytes) -> None:
        self.request, self.received = number, b""
        self.sent = time.monotonic_ns()
        self.socket.sendall(request)

    def read(self) -> bytes | None:
        """The answer's body, None until it is whole."""
        some = self.socket.recv(1 << 18)
        if not some:
            raise ConnectionError("the server closed the connection")
        self.received += some
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end:
            return None
        if head[9:12] != b"200":
            raise RuntimeError(f"answered {self.received!r}")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
        return body if len(body) >= int(length) else None


def read(addresses: list[str], requests: list[bytes], *words: str) -> None:
    count, reads, seed, log = int(words[0]), int(words[1]), words[2], words[3]
    chance = random.Random(seed)
    answers: dict[bytes, int] = {}
    lines = bytearray()
    opened = [_Connection(addresses[number % len(addresses)], number) for number in range(count)]
    selector = selectors.DefaultSelector()
    open_reads = 0

    def send(connection: _Connection) -> None:
        number = chance.randrange(len(requests))
        connection.send(number, requests[number])

    for connection in opened:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        send(connection)
        open_reads += 1
    begun = open_reads
    while open_reads:
        ready = selector.select(_SILENCE_SECONDS)
        if not ready:
            raise TimeoutError("no answer")
        for key, _ in ready:
            connection = key.data
            body = connection.read()
            if body is None:
                continue
            received = time.monotonic_ns()
            answer = answers.setdefault(body, len(answers))
            lines += LINE.pack(
                connection.sent, received, connection.number, connection.request, answer
            )
            open_reads -= 1
            if begun < reads:
                send(connection)
                begun, open_reads = begun + 1, open_reads + 1
    Path(log).write_bytes(lines)
    Path(f"{log}.answers").write_bytes(b"\n".join(answers))


if __name__ == "__main__":
    given = [each.encode() for each in json.load(sys.stdin)]
    read(sys.argv[1].split(","), given, *sys.argv[2:])
