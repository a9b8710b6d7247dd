"""The connection pool of a node: connections are reused, responses bounded in time and size."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.priority.odd_nodes import odd_node
from upstream.connection_pools import LARGEST_ANSWER, AsyncConnectionPool, pool_for
from upstream.http.errors import AnswerTooLarge, BadAnswer

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


@contextlib.contextmanager
def raw_node(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that takes one connection, reads a request and does as told."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()

        def serve() -> None:
            with contextlib.suppress(OSError), door.accept()[0] as connection:
                asked = b""
                # To its end: a server that leaves a request unread resets the connection.
                while not asked.endswith(b"\r\n\r\n{}"):
                    asked += connection.recv(65_536)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
        thread.join(20)


def asked(url: str, *, seconds: float = 20, largest: int = LARGEST_ANSWER) -> tuple[int, bytes]:
    """Status and body of the node's answer."""
    return pool_for(url).post(b"{}", seconds=seconds, largest=largest)[:2]


def test_an_answer_comes_whole_however_it_is_cut() -> None:
    content = bytes(range(256)) * 20_000

    def slices(connection: socket.socket) -> None:
        connection.sendall(HEAD % len(content))
        for at in range(0, len(content), 300_001):
            connection.sendall(content[at : at + 300_001])

    with raw_node(slices) as url:
        assert asked(url) == (200, content)

    def chunks(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b"a" * 10, b"b" * 70_000):
            connection.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
        connection.sendall(b"0\r\n\r\n")

    with raw_node(chunks) as url:
        assert asked(url) == (503, b"a" * 10 + b"b" * 70_000)


def test_a_node_that_trickles_is_given_up_in_time() -> None:
    done = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.sendall(HEAD % 1_000)
        while not done.wait(0.05):
            connection.sendall(b"x")

    with raw_node(trickle) as url:
        # A deadline for each read alone would let it go on until the answer is whole.
        with pytest.raises(TimeoutError):
            asked(url, seconds=1)
        done.set()


def test_a_connection_that_ends_early_is_no_answer() -> None:
    for sent in (b"", HEAD % 1_000 + b"half", b"nonsense\r\n\r\n"):
        with (
            raw_node(lambda connection, sent=sent: connection.sendall(sent)) as url,
            pytest.raises((ConnectionError, BadAnswer)),
        ):
            asked(url)


def test_an_answer_above_the_bound_is_not_taken_and_the_next_call_goes_well() -> None:
    sizes = iter([1_001, 1_000])
    with odd_node(lambda body: (200, b"x" * next(sizes))) as node:
        with pytest.raises(AnswerTooLarge):
            asked(node.url, largest=1_000)
        assert asked(node.url, largest=1_000) == (200, b"x" * 1_000)


def test_the_turn_of_a_caller_that_is_gone_goes_on() -> None:
    async def statuses(url: str) -> list[int]:
        pool = AsyncConnectionPool(url, most=1)
        first = await pool.post(b"{}", seconds=20)
        gone = asyncio.create_task(pool.post(b"{}", seconds=20, holder="gone"))
        behind = asyncio.create_task(pool.post(b"{}", seconds=20, holder="behind"))
        await asyncio.sleep(0)  # both wait for their turn
        gone.cancel()
        first.close()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
        second = await behind
        second.close()
        last = await pool.post(b"{}", seconds=20)
        last.close()
        return [each.status for each in (first, second, last)]

    with odd_node(lambda body: (200, b"{}")) as node:
        assert asyncio.run(statuses(node.url)) == [200, 200, 200]
