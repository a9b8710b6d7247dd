"""Bodies above the maximum: whose are read, and how many at a time."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.patience import PATIENCE_SECONDS
from tests.webserver.application import Application, Served
from tests.webserver.client import chunked, get, post
from tests.webserver.serving import serving
from webserver.lanes import Lane
from webserver.large_bodies import LargeBodies
from webserver.limits import Limits
from webserver.requests import Request
from webserver.worker import Worker

MOST, LARGE = 1_000, 4_000_000
BODY = bytes(range(33, 123)) * (LARGE // 90)


class Asked:
    """Who is let in: whose key is a letter. `/slow` is looked at once `gate` opens."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = threading.Semaphore(0)
        self.asked = 0

    def holder_of(self, request: Request, _address: str) -> bytes | None:
        self.asked += 1
        if request.path == "/slow":
            self.begun.release()
            assert self.gate.wait(PATIENCE_SECONDS)
        key = request.header(b"authorization") or b""
        if key == b"broken":
            raise RuntimeError("the test's own")
        return key if key.isalpha() else None


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def server(asked: Asked) -> Iterator[Served]:
    """Two large bodies of a key at a time, three of all."""
    application, lane = Application(), Lane(8, waiting=1_000)

    def serves(request: Request) -> bool:
        return request.path in ("/large", "/slow", "/held")

    large = LargeBodies(
        maximum=LARGE,
        of_holder=2 * LARGE,
        of_all=3 * LARGE,
        lane=lane,
        serves=serves,
        holder_of=asked.holder_of,
    )
    worker = Worker(
        application,
        lane_of=lambda _request, _address: (lane, b""),
        limits=Limits(body=MOST, bodies=100_000, body_seconds=PATIENCE_SECONDS),
        large=large,
    )
    with serving(worker) as port:
        try:
            yield Served(port, worker, application)
        finally:
            asked.gate.set()
            application.gate.set()


def large(path: str = "/large", key: str = "a", body: bytes = BODY, *headers: str) -> bytes:
    return post(path, body, f"Authorization: {key}", *headers)


def test_a_large_body_of_a_key_that_may_send_it_comes_whole(server: Served) -> None:
    with server.client() as client:
        for _ in range(3):
            assert client.send(large()).reply().json["body"] == BODY.decode()
        assert client.send(post("/large", b"small")).reply().json["body"] == "small"
        assert client.send(large("/large", "b")).reply().json["body"] == BODY.decode()


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (lambda: post("/large", BODY), 413),
        (lambda: large("/large", "1"), 413),
        (lambda: large("/other"), 413),
        (lambda: large("/large", "a", BODY + bytes(1_000)), 413),
        (lambda: large("/large", "broken"), 503),
        (lambda: large("/large", "a", BODY, "Upgrade: x", "Connection: upgrade"), 413),
        (
            lambda: get("/large", f"Content-Length: {10**14}", "Authorization: a", method="POST"),
            413,
        ),
        (lambda: chunked("/large", BODY), 413),
    ],
    ids=["no key", "key", "path", "size", "fault", "upgrade", "huge", "chunked"],
)
def test_any_other_large_body_is_refused_and_the_reason_read(
    server: Served, made: Callable[[], bytes], status: int
) -> None:
    with server.client() as client:
        client.send(made())
        assert client.reply().status == status
        assert client.is_closed
    assert server.application.calls == []


def test_nothing_of_a_large_body_is_read_before_its_sender_is_known(
    server: Served, asked: Asked
) -> None:
    """The sockets fill up, and the process takes no more."""
    with server.client() as client:
        client.send(large("/slow", "1")[:200])
        assert asked.begun.acquire(timeout=PATIENCE_SECONDS)
        client.sock.setblocking(False)
        sent = 0
        rest = memoryview(bytes(LARGE) * 10)
        quiet = 0
        while quiet < 20:
            try:
                sent += client.sock.send(rest[sent:])
                quiet = 0
            except BlockingIOError:
                quiet += 1
                threading.Event().wait(0.02)
        assert sent < len(rest)
        with server.client() as other:  # which goes on meanwhile
            assert other.send(post("/", b"x")).reply().status == 200
        client.sock.settimeout(60)
        asked.gate.set()
        assert client.reply().status == 413


def test_the_body_is_asked_for_once_its_sender_is_known(server: Served, asked: Asked) -> None:
    with server.client() as client:
        head, body = large("/slow", "a", BODY, "Expect: 100-continue").split(b"\r\n\r\n", 1)
        client.send(head + b"\r\n\r\n")
        assert asked.begun.acquire(timeout=PATIENCE_SECONDS)
        asked.gate.set()
        assert client.reply().status == 100
        assert client.send(body).reply().json["body"] == BODY.decode()


def test_requests_around_a_large_one_are_answered_in_order(server: Served, asked: Asked) -> None:
    asked.gate.set()
    with server.client() as client:
        client.send(post("/first") + large("/slow") + post("/last"))
        replies = [client.reply().json["PATH_INFO"] for _ in range(3)]
    assert replies == ["/first", "/slow", "/last"]


def test_a_large_body_keeps_its_room_until_it_is_answered(server: Served) -> None:
    held = [server.client() for _ in range(3)]
    for client, key in zip(held, "aab", strict=True):
        client.send(large("/held", key))
    server.application.wait_for(3)
    with server.client() as client:
        assert client.send(large("/large", "a")).reply().status == 429
    with server.client() as client:
        assert client.send(large("/large", "b")).reply().status == 503
    server.application.gate.set()
    for client in held:
        assert client.reply().status == 200
        client.close()
    with server.client() as client:
        for _ in range(4):
            assert client.send(large()).reply().status == 200


def test_who_gives_up_gives_the_room_back(server: Served) -> None:
    for _ in range(5):
        with server.client() as client:
            client.send(large()[: LARGE // 2])
    # The process may learn of the end of the last ones after it has read this.
    until = time.monotonic() + PATIENCE_SECONDS
    for _ in range(3):
        status = 429
        while status == 429 and time.monotonic() < until:
            with server.client() as client:
                status = client.send(large()).reply().status
        assert status == 200


def test_small_bodies_are_kept_whatever_large_ones_are_under_way(server: Served) -> None:
    """All unfinished small ones together have far less room than one large one takes."""
    with server.client() as small, server.client() as client:
        small.send(post("/", b"0123456789")[:-5])
        begun = large()
        client.send(begun[:-5])
        assert small.send(b"56789").reply().json["body"] == "0123456789"
        assert client.send(begun[-5:]).reply().status == 200
