"""Clients that are slow, or silent, end by themselves."""

import time

from tests.patience import PATIENCE_SECONDS
from tests.webserver.application import served
from tests.webserver.client import chunked, get, post

_SHORT = 0.4
_LONG = 600.0


def test_a_connection_that_says_nothing_is_closed() -> None:
    with served(first_seconds=_SHORT, idle_seconds=_LONG) as server, server.client() as client:
        assert client.is_closed


def test_empty_lines_are_no_request() -> None:
    with served(first_seconds=_SHORT) as server, server.client() as client:
        client.send(b"\r\n\r\n\r\n")
        assert client.is_closed


def test_a_head_that_does_not_end_is_refused() -> None:
    with served(head_seconds=_SHORT, first_seconds=_LONG) as server, server.client() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: loc")
        reply = client.reply()
        assert (reply.status, reply.text) == (408, "head_timeout")
        assert client.is_closed


def test_a_head_that_comes_byte_by_byte_has_one_deadline() -> None:
    with served(head_seconds=_SHORT, first_seconds=_LONG) as server, server.client() as client:
        client.send(b"GET / HTTP/1.1\r\nX-A: ")
        client.sock.settimeout(0.05)
        while True:
            try:
                if client.send(b"a").sock.recv(1):
                    break
            except TimeoutError:
                continue


def test_a_body_that_does_not_come_is_refused() -> None:
    with served(body_seconds=_SHORT, head_seconds=_LONG) as server:
        for half in (post("/", b"abc")[:-1], chunked("/", b"abc")[:-3]):
            with server.client() as client:
                reply = client.send(half).reply()
                assert (reply.status, reply.text) == (408, "body_timeout")
                assert client.is_closed
        assert server.application.calls == []


def test_a_connection_between_two_requests_is_closed() -> None:
    with served(idle_seconds=_SHORT, first_seconds=_LONG) as server, server.client() as client:
        assert client.send(get("/")).reply().status == 200
        assert client.is_closed


def test_a_head_behind_a_response_has_a_deadline_of_its_own() -> None:
    limits = {"head_seconds": _SHORT, "idle_seconds": _LONG, "first_seconds": _LONG}
    with served(**limits) as server, server.client() as client:
        client.send(get("/held") + b"GET /half")
        server.application.wait_for(1)
        server.application.gate.set()
        assert [each.status for each in client.replies()] == [200, 408]


def test_a_request_that_is_being_answered_has_no_deadline() -> None:
    limits = dict.fromkeys(
        ("first_seconds", "idle_seconds", "head_seconds", "body_seconds", "write_seconds"), 0.1
    )
    with served(**limits) as server, server.client() as client, server.client() as other:
        client.send(get("/held"))
        server.application.wait_for(1)
        assert other.is_closed  # the deadlines of the same age have passed
        server.application.gate.set()
        assert client.reply().status == 200


def test_a_client_that_reads_nothing_is_ended() -> None:
    with served(write_seconds=_SHORT) as server, server.client() as client:
        client.send(get("/big?50000000"))
        assert server.application.sent.wait(PATIENCE_SECONDS)  # it left the process, or never will
        size = 0
        try:
            while piece := client.sock.recv(1_000_000):
                size += len(piece)
        except ConnectionResetError:
            pass
        assert size < 50_000_000


def test_a_client_that_reads_on_gets_all() -> None:
    with served(write_seconds=_SHORT) as server, server.client() as client:
        client.send(get("/big?20000000"))
        assert len(client.reply().body) == 20_000_000


def test_answers_that_nobody_takes_are_bounded_in_all() -> None:
    with served(write_seconds=_LONG, answers=30_000_000) as server:
        clients = [server.client() for _ in range(6)]
        for client in clients:
            client.send(get("/big?20000000"))
        while len(server.application.calls) < 6 or len(server.worker.admission.connections) == 6:
            time.sleep(0.01)
        ended = 0
        for client in clients:
            try:
                client.reply()
            except (AssertionError, ConnectionResetError):
                ended += 1
            client.close()
        assert 1 <= ended < 6
