"""Errors are seen by the size of the answers, which differs from request to request."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from benchmarks import load
from benchmarks.clients import LoadFailed, require_size
from benchmarks.load import Figures

LONG, SHORT = 8_000, 1_000
REQUESTS = [b"GET /%d HTTP/1.1\r\n\r\n" % (LONG if n < 50 else SHORT) for n in range(500)]


class Answering(socketserver.StreamRequestHandler):
    """Answers `/N` with N bytes."""

    def handle(self) -> None:
        with suppress(ConnectionError):  # the load ends with requests on their way
            while line := self.rfile.readline():
                self.rfile.readline()
                head = b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\n" % line.split()[1][1:]
                self.wfile.write(head + bytes(int(line.split()[1][1:])))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with Server(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ("127.0.0.1", int(server.server_address[1]))
        server.shutdown()


@pytest.mark.parametrize("connections", [1, 4])
def test_requests_whose_answers_become_shorter_are_no_errors(
    address: tuple[str, int], connections: int
) -> None:
    take = partial(load.run, address, REQUESTS, connections=connections)
    first, all_of_them = take(answers=50), take(answers=500)
    assert first.bytes_each > 0.9 * LONG
    with pytest.raises(LoadFailed):
        require_size(all_of_them, first.bytes_each)
    require_size(all_of_them, first.bytes_each, lambda count: take(answers=count))


def test_answers_that_are_shorter_than_to_the_same_requests_are_errors(
    address: tuple[str, int],
) -> None:
    take = partial(load.run, address, REQUESTS, connections=1)
    errors = Figures(rate=1.0, p50=1.0, p99=1.0, bytes_read=500 * 300, answers=500)
    with pytest.raises(LoadFailed, match="of 300 bytes instead of 1,7"):
        require_size(errors, LONG, lambda count: take(answers=count))
