"""How many connections there are, and which of them go."""

import pytest

from tests.webserver.application import served
from tests.webserver.client import Client, get, post


def _is_open(client: Client) -> bool:
    try:
        return client.send(get("/")).reply().status == 200
    except (OSError, EOFError):
        return False


def test_one_address_has_so_many_connections() -> None:
    with served(connections_per_address=3) as server:
        clients = [server.client() for _ in range(3)]
        assert all(map(_is_open, clients))
        with server.client() as refused:
            reply = refused.reply()
            assert (reply.status, reply.text) == (503, "too_many_connections")
            assert refused.is_closed
        with server.client("127.0.0.2") as other:
            assert _is_open(other)
        clients.pop().close()
        with server.client("127.0.0.2") as other:  # behind it the close has been seen
            assert _is_open(other)
        with server.client() as again:
            assert _is_open(again)
        for client in clients:
            client.close()


def test_a_burst_of_connections_of_one_address_is_counted_whole() -> None:
    with served(connections_per_address=5) as server:
        clients = [server.client() for _ in range(40)]
        for client in clients:
            client.send(get("/"))
        served_ones = 0
        for client in clients:
            try:
                served_ones += client.reply().status == 200
            except (OSError, EOFError):
                continue
        assert served_ones == 5
        assert server.worker.admission.refused == 35
        for client in clients:
            client.close()


def test_a_refused_client_that_has_sent_already_reads_why() -> None:
    with served(connections_per_address=1) as server, server.client() as first:
        assert _is_open(first)
        seen = []
        for _ in range(20):
            with server.client() as refused:
                try:
                    seen.append(refused.send(get("/")).reply().status)
                except (OSError, EOFError):
                    seen.append(0)  # it sent between the refusal and the close
        assert 503 in seen and set(seen) <= {503, 0}


def test_a_trusted_proxy_is_not_counted() -> None:
    with served(
        connections_per_address=2, is_proxy=lambda address: address == "127.0.0.9"
    ) as server:
        clients = [server.client("127.0.0.9") for _ in range(10)]
        assert all(map(_is_open, clients))
        for client in clients:
            client.close()


def test_the_one_that_never_sent_a_request_goes_first() -> None:
    with served(connections=3) as server:
        idle = server.client()
        assert _is_open(idle)
        silent, half = server.client(), server.client()
        half.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na")
        while len(server.worker.admission.connections) < 3:
            pass
        with server.client() as first:
            assert _is_open(first)
            assert silent.is_closed
            with server.client() as second:
                assert _is_open(second)
                assert half.is_closed
                assert _is_open(idle)
                # Now none is new: the one that has lain idle longest goes.
                with server.client() as third:
                    assert _is_open(third)
                    assert first.is_closed
                    assert _is_open(idle)
        assert server.worker.admission.evicted == 3
        for client in (idle, silent, half):
            client.close()


def test_who_is_being_answered_stays() -> None:
    with served(connections=2) as server:
        held = [server.client().send(get("/held")) for _ in range(2)]
        server.application.wait_for(2)
        with server.client() as refused:
            assert refused.reply().status == 503
        server.application.gate.set()
        for client in held:
            assert client.reply().status == 200
            client.close()


def test_who_does_not_take_its_answer_goes_last() -> None:
    with served(connections=2) as server:
        idle, stuck = server.client(), server.client()
        stuck.send(get("/big?20000000"))
        assert stuck.sock.recv(1)
        assert _is_open(idle)
        with server.client() as first:
            assert _is_open(first)
            assert idle.is_closed
            held = first.send(get("/held"))
            server.application.wait_for(1)
            with server.client() as second:
                assert _is_open(second)
                with pytest.raises((AssertionError, ConnectionResetError)):
                    stuck.reply()
            server.application.gate.set()
            assert held.reply().status == 200
        idle.close()
        stuck.close()


def test_bytes_of_unfinished_bodies_are_bounded_in_all() -> None:
    with served(bodies=500_000, body=200_000) as server:
        halves = []
        for n in range(10):
            client = server.client(f"127.0.0.{n + 1}")
            client.send(post("/", b"a" * 100_000)[:-1])
            halves.append(client)
        with server.client() as other:
            assert _is_open(other)
        # The last ones can go on, the first ones are gone.
        assert halves[-1].send(b"a").reply().status == 200
        assert halves[0].is_closed
        for client in halves:
            client.close()


def test_bytes_of_unfinished_heads_are_bounded_with_them() -> None:
    with served(bodies=300_000, head=60_000) as server:
        halves = []
        for _ in range(10):
            client = server.client()
            client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 50_000)
            halves.append(client)
        assert halves[0].is_closed
        assert halves[-1].send(b"a\r\n\r\n").reply().status == 200
        for client in halves:
            client.close()


def test_requests_read_ahead_are_bounded_by_their_bytes() -> None:
    """A client whose first request is being answered can send no more than so much behind it."""
    with served(body=100_000) as server, server.client() as client:
        client.send(get("/held"))
        server.application.wait_for(1)
        one = post("/", b"a" * 90_000)
        client.sock.settimeout(2)
        sent = 0
        try:
            for _ in range(400):
                client.send(one)
                sent += 1
        except TimeoutError:
            pass
        assert sent < 400  # 36 MB: more than the sockets' own buffers hold
        server.application.gate.set()


def test_a_client_that_still_sends_reads_its_refusal() -> None:
    with served(body=1_000) as server:
        for _ in range(5):
            with server.client() as client:
                client.send(get("/", "Content-Length: 300000", method="POST"))
                client.send(b"a" * 300_000)
                assert client.reply().status == 413
                assert client.is_closed


def test_a_client_that_does_not_stop_sending_is_cut() -> None:
    with served(body=1_000) as server, server.client() as client:
        client.send(get("/", "Content-Length: 100000000", method="POST"))
        with pytest.raises(OSError):
            for _ in range(1_000):
                client.send(bytes(100_000))


def test_an_application_that_raises_is_logged_and_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with served() as server, server.client() as client:
        assert client.send(get("/raises")).reply().status == 500
        assert client.send(get("/a")).reply().json["PATH_INFO"] == "/a"
    assert "the application failed" in caplog.text and "the test's own" in caplog.text


def test_each_large_response_is_called_sent_before_the_next_one_is_made() -> None:
    """A key's answers are counted until they are sent: many in a row would else be refused."""
    with served() as server, server.client() as client:
        for _ in range(20):
            server.application.sent.clear()
            reply = client.send(get("/big?6000000")).reply()
            assert len(reply.body) == 6_000_000
            # On one connection: what follows is begun behind it.
            client.send(get("/")).reply()
            assert server.application.sent.is_set()
