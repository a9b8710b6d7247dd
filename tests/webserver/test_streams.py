"""Responses that go on: written as they come, for as long as the client reads."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

from tests.patience import PATIENCE_SECONDS
from tests.webserver.application import served
from tests.webserver.client import get
from webserver.streams import Stream


async def three(stream: Stream) -> None:
    for n in range(3):
        await stream.write(b"%d" % n)


def test_each_write_is_a_chunk() -> None:
    with served() as server, server.client() as client:
        server.application.proceed = three
        client.send(get("/stream"))
        assert client.reply().body == b"012"
        assert client.is_closed
        assert server.application.sent.wait(PATIENCE_SECONDS)


def test_http_1_0_has_no_chunks() -> None:
    with served() as server, server.client() as client:
        server.application.proceed = three
        reply = client.send(get("/stream", version="1.0")).reply()
        assert "transfer-encoding" not in reply.headers
        assert reply.body == b"012"


def test_what_is_written_arrives_at_once() -> None:
    go_on = threading.Semaphore(0)

    async def proceed(stream: Stream) -> None:
        for n in range(3):
            await stream.write(b"%d" % n)
            while not go_on.acquire(blocking=False):
                await asyncio.sleep(0.001)

    with served() as server, server.client() as client:
        server.application.proceed = proceed
        client.send(get("/stream"))
        line = b""
        while not line.endswith(b"\r\n\r\n"):
            line += client.sock.recv(1)
        for n, chunk in enumerate(client.chunks()):
            assert chunk == b"%d" % n
            go_on.release()
        assert n == 2


def test_a_writer_waits_for_a_reader_that_is_behind() -> None:
    written = [0]

    async def proceed(stream: Stream) -> None:
        stream.bound_buffer(65_536)
        while written[0] < 50_000_000:
            await stream.write(bytes(100_000))
            written[0] += 100_000

    with served() as server, server.client() as client, server.client() as other:
        server.application.proceed = proceed
        client.send(get("/stream"))
        before = -1
        while before != written[0] or not written[0]:  # until it stands still
            before = written[0]
            for _ in range(50):
                assert other.send(get("/a")).reply().status == 200
        assert written[0] < 25_000_000
        assert len(client.reply().body) == 50_000_000


def test_a_stream_is_cancelled_when_its_client_goes() -> None:
    began, cancelled = threading.Event(), threading.Event()

    async def proceed(stream: Stream) -> None:
        await stream.write(b"hello")
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with served() as server:
        server.application.proceed = proceed
        with server.client() as client:
            client.send(get("/stream"))
            assert began.wait(PATIENCE_SECONDS)
        assert cancelled.wait(PATIENCE_SECONDS) and server.application.sent.wait(PATIENCE_SECONDS)
        assert not server.worker.admission.connections


def test_a_stream_that_raises_is_cut() -> None:
    async def proceed(stream: Stream) -> None:
        await stream.write(b"hello")
        raise RuntimeError("the test's own")

    with served() as server, server.client() as client:
        server.application.proceed = proceed
        client.send(get("/stream"))
        data = b""
        try:
            while piece := client.sock.recv(1_000):
                data += piece
        except ConnectionResetError:
            pass
        assert not data.endswith(b"0\r\n\r\n")
        assert server.application.sent.wait(PATIENCE_SECONDS)


def test_a_stream_says_goodbye_when_the_server_stops() -> None:
    stopping = asyncio.Event()

    async def proceed(stream: Stream) -> None:
        await stream.write(b"hello")
        await stopping.wait()
        await stream.write(b"goodbye")

    async def at_stop() -> None:
        stopping.set()

    with served() as server:
        server.application.proceed = proceed
        server.worker.at_stop.append(at_stop)
        client = server.client().send(get("/stream"))
        head = b""
        while b"hello" not in head:
            head += client.sock.recv(1_000)
    rest = b""
    while piece := client.sock.recv(1_000):
        rest += piece
    assert b"goodbye" in rest and rest.endswith(b"0\r\n\r\n")
    client.close()


def test_a_long_response_is_made_as_fast_as_its_client_takes_it() -> None:
    made, closed = [0], threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            for n in range(400):
                made[0] = n
                yield bytes([n % 256]) * 100_000
        finally:
            closed.set()

    with served() as server, server.client() as client:
        server.application.answers["/long"] = pieces
        client.send(get("/long"))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.sock.recv(1)
        assert b"content-length" not in head.lower()
        before = -1
        while made[0] != before:
            before = made[0]
            time.sleep(0.5)
        # Some megabytes are ahead of the reader: what is made at once, and the system's buffers.
        assert made[0] < 200
        body = b"".join(client.chunks())
        assert body == b"".join(bytes([n % 256]) * 100_000 for n in range(400))
        assert closed.wait(PATIENCE_SECONDS)


def test_a_long_response_ends_with_its_client() -> None:
    closed = threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield bytes(100_000)
        finally:
            closed.set()

    with served() as server:
        server.application.answers["/long"] = pieces
        with server.client() as client:
            client.send(get("/long"))
            client.sock.recv(100_000)
        assert closed.wait(PATIENCE_SECONDS)


def test_a_long_response_that_fails_is_not_taken_for_whole() -> None:
    def pieces() -> Iterator[bytes]:
        yield from [bytes(100_000)] * 100
        raise ValueError("in the midst of it")

    with served() as server, server.client() as client:
        server.application.answers["/long"] = pieces
        client.send(get("/long"))
        received = b""
        with contextlib.suppress(ConnectionError):
            while piece := client.sock.recv(1 << 20):
                received += piece
        assert not received.endswith(b"0\r\n\r\n")
