"""One HTTP exchange: whole in size and time, whatever the other side does."""

import contextlib
import gzip
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.patience import PATIENCE_SECONDS
from tests.upstream import hostile
from tests.upstream.hostile import HEAD, Speak, says, speaking, trickles
from upstream.http.client import Answer, Client, Connection, Place
from upstream.http.errors import AnswerTooLarge, BadAddress, BadAnswer, Busy, NotConnected

MEGABYTE = 1_048_576


@contextlib.contextmanager
def client(speak: Speak, *, most: int | None = None) -> Iterator[Client]:
    with speaking(speak) as port:
        asking = Client(f"http://127.0.0.1:{port}/a?b", headers={}, most=most)
        try:
            yield asking
        finally:
            asking.close()


def gives_up(call: Callable[[float], object]) -> None:
    """`call(seconds)` ends with a timeout that is not one of connecting: a busy machine may take
    longer than a short time to get as far as the server.
    """
    seconds = 0.3
    while True:
        with pytest.raises((TimeoutError, NotConnected)) as caught:
            call(seconds)
        if caught.type is not NotConnected:
            return
        assert seconds < PATIENCE_SECONDS
        seconds *= 4


def post(asking: Client, *, seconds: float = 20.0, largest: int = MEGABYTE) -> Answer:
    return asking.post(b"{}", seconds=seconds, largest=largest)


def gzipped(body: bytes) -> bytes:
    """The same bytes at any time: they name a test, which is to have one name in all processes."""
    return gzip.compress(body, mtime=0)


def compressed(body: bytes) -> bytes:
    packed = gzipped(body)
    return HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(packed), packed)


def test_compressed_and_plain_answers_arrive_whole_over_one_connection() -> None:
    body = random.Random(1).randbytes(300_000) + bytes(300_000)
    connections: list[int] = []

    def alternate(connection: socket.socket, _stopping: threading.Event) -> None:
        connections.append(1)
        while asked := connection.recv(65_536):
            assert asked.startswith(b"POST /a?b HTTP/1.1\r\nHost: 127.0.0.1:")
            connection.sendall(compressed(body))
            connection.recv(65_536)
            connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n")

    with client(alternate) as asking:
        for _ in range(3):
            assert post(asking) == Answer(200, body, "127.0.0.1")
            assert post(asking).body == b"whole"
    assert len(connections) == 1


def test_a_bomb_is_given_up_at_the_bound() -> None:
    with client(says(hostile.gzip_bomb(50))) as asking, pytest.raises(AnswerTooLarge):
        post(asking)


def test_an_answer_that_is_exactly_at_the_bound_is_taken() -> None:
    with client(says(compressed(bytes(MEGABYTE)), ends=False)) as asking:
        assert len(post(asking).body) == MEGABYTE
        with pytest.raises(AnswerTooLarge):
            post(asking, largest=MEGABYTE - 1)


@pytest.mark.parametrize(
    "said",
    [
        HEAD + b"Content-Length: 99999999999\r\n\r\n",
        HEAD + b"\r\n" + bytes(2 * MEGABYTE),
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n200001\r\n" + bytes(2 * MEGABYTE + 1),
    ],
)
def test_an_answer_above_the_bound_is_not_taken(said: bytes) -> None:
    with client(says(said, ends=False)) as asking, pytest.raises(AnswerTooLarge):
        post(asking)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"220 mail ESMTP\r\n",
        b"\0" * 70_000,
        b"HHHH",
        b"RTSP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n" + HEAD + b"Content-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + HEAD + b"Content-Length: 2\r\n\r\n{}",
        HEAD + b"a: b\r\n" * 200 + b"\r\n",
        HEAD + b"a: " + b"b" * 70_000 + b"\r\n\r\n",
        HEAD + b"a: b\r\n c\r\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"a: b\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length : 2\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: +2\r\n\r\n{}",
        HEAD + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 10\r\n\r\nfive.",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfive\r\nfive.",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nfive.\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 70_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{} \r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"a" * 400_000 + b"\r\n{}\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 5_000 + b"0\r\n\r\n",
        HEAD + b"Content-Encoding: gzip\r\n\r\nnot gzip",
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzipped(b"x" * 999)[:-9],
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + 2 * gzipped(b"twice"),
        HEAD + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\nok",
        HEAD + b"Content-Encoding: gzip, gzip\r\nContent-Length: 2\r\n\r\nok",
        HEAD + b"Content-Encoding: gzip\r\n" * 2 + b"\r\n" + gzipped(b"once"),
    ],
)
def test_what_is_no_whole_answer_is_an_error(said: bytes) -> None:
    with (
        client(says(said)) as asking,
        pytest.raises((ConnectionError, BadAnswer)) as caught,
    ):
        post(asking)
    assert not isinstance(caught.value, AnswerTooLarge)


# Each piece comes well within any timeout of a single read: only the whole is too slow. The server
# never ends by itself, so that a call that comes back was ended here.
@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"HTTP/1.1 200 ", b"O"),
        (b"HTTP/1.1 200 OK\r\n", b"a"),
        (b"HTTP/1.1 100 Continue\r\n", b"a"),
        (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
        (HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzipped(b"")[:10], b"\0\0\0\xff\xff"),
    ],
)
def test_a_trickle_is_over_when_the_time_is(beginning: bytes, piece: bytes) -> None:
    with client(trickles(beginning, piece)) as asking:
        gives_up(lambda seconds: post(asking, seconds=seconds))


def test_a_server_that_takes_the_request_byte_by_byte_is_given_up() -> None:
    def deaf(connection: socket.socket, stopping: threading.Event) -> None:
        while not stopping.wait(hostile.STOPPED_SECONDS):
            connection.recv(1)

    with client(deaf) as asking:
        gives_up(
            lambda seconds: asking.post(bytes(64 * MEGABYTE), seconds=seconds, largest=MEGABYTE)
        )


def test_a_tls_handshake_that_does_not_end_is_given_up() -> None:
    context = ssl.create_default_context()
    # A handshake record of 16 kB, byte by byte.
    with speaking(trickles(b"\x16\x03\x03\x40\x00", b"\0")) as port:
        gives_up(
            lambda seconds: Connection.open(
                [Place(socket.AF_INET, ("127.0.0.1", port))],
                deadline=time.monotonic() + seconds,
                tls=context,
                host="localhost",
            )
        )


def test_tls_speaks_with_nobody_unknown(tmp_path: object) -> None:
    with speaking(says(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port, pytest.raises(ssl.SSLError):
        Client(f"https://127.0.0.1:{port}", headers={}).post(b"", seconds=20.0, largest=10)


def test_a_connection_that_speaks_unasked_is_not_used_again() -> None:
    spoke = threading.Event()
    connections: list[int] = []

    def eager(connection: socket.socket, _stopping: threading.Event) -> None:
        connection.recv(65_536)
        connections.append(1)
        connection.sendall(HEAD + b"Content-Length: 4\r\n\r\ngood")
        connection.sendall(HEAD + b"Content-Length: 4\r\n\r\nevil")
        spoke.set()
        connection.recv(65_536)

    with client(eager) as asking:
        for _ in range(3):
            assert post(asking).body == b"good"
            spoke.wait(20)
            spoke.clear()
    assert len(connections) == 3


def test_who_waits_for_a_turn_too_long_is_told() -> None:
    asked = threading.Event()

    def silent(connection: socket.socket, stopping: threading.Event) -> None:
        connection.recv(65_536)
        asked.set()
        stopping.wait()

    with client(silent, most=1) as asking:
        failures: list[BaseException] = []

        def first() -> None:
            try:
                post(asking, seconds=3.0)
            except TimeoutError as error:
                failures.append(error)

        thread = threading.Thread(target=first)
        thread.start()
        assert asked.wait(PATIENCE_SECONDS)
        with pytest.raises(Busy):
            post(asking)
        thread.join()
        assert failures


@pytest.mark.parametrize("url", ["", "ftp://a", "http://", "http://a:b", "http://" + "a" * 70])
def test_an_address_that_is_none_is_an_error_of_the_call(url: str) -> None:
    with pytest.raises(BadAddress):
        Client(url, headers={}).post(b"", seconds=1.0, largest=1)
