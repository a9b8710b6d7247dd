"""Threads are shared fairly among those who ask, and bounded for each kind of request."""

from tests.webserver.application import served
from tests.webserver.client import get
from webserver.lanes import Lane
from webserver.requests import Request


class Lanes:
    """`/held?KEY` is dear; everything else is quick."""

    def __init__(self, *, waiting: int = 100, of_one: int = 100) -> None:
        self.dear = Lane(3, of_holder=2, waiting=waiting, waiting_of_holder=of_one)
        self.quick = Lane(2, waiting=100)

    def of(self, request: Request, _address: str) -> tuple[Lane, bytes]:
        if request.path == "/held":
            return self.dear, request.query.encode()
        return self.quick, b""


def test_dear_calls_of_one_key_hold_up_nobody_else() -> None:
    with served(Lanes().of) as server:
        greedy = [server.client().send(get("/held?greedy")) for _ in range(10)]
        server.application.wait_for(2)  # as many as one key may have
        with server.client() as other, server.client() as quick:
            other.send(get("/held?other"))
            server.application.wait_for(1)  # its call runs beside them
            assert quick.send(get("/a")).reply().status == 200
            server.application.gate.set()
            assert other.reply().status == 200
        for client in greedy:
            assert client.reply().status == 200
            client.close()


def test_keys_that_wait_have_their_turns_one_after_the_other() -> None:
    with served(Lanes().of) as server:
        first = [server.client().send(get("/held?first")) for _ in range(6)]
        server.application.wait_for(2)
        second = [server.client().send(get("/held?second")) for _ in range(6)]
        server.application.wait_for(1)
        server.application.gate.set()
        for client in first + second:
            assert client.reply().status == 200
            client.close()


def test_calls_of_a_key_that_wait_are_bounded() -> None:
    with served(Lanes(of_one=2).of) as server:
        held = [server.client().send(get("/held?greedy")) for _ in range(2)]
        server.application.wait_for(2)
        waiting = [server.client() for _ in range(4)]
        for client in waiting:
            client.send(get("/held?greedy"))
        with server.client() as other:
            other.send(get("/held?other"))
            server.application.wait_for(1)
            server.application.gate.set()
            assert other.reply().status == 200
        seen = sorted(client.reply().status for client in waiting)
        assert seen == [200, 200, 429, 429]
        assert [client.reply().status for client in held] == [200, 200]
        # The connection is kept: a refused call was whole.
        assert waiting[-1].send(get("/a")).reply().status == 200
        for client in held + waiting:
            client.close()


def test_calls_that_wait_are_bounded_in_all() -> None:
    with served(Lanes(waiting=1).of) as server:
        running = [server.client().send(get(f"/held?{n}")) for n in range(3)]
        server.application.wait_for(3)
        waiting = [server.client().send(get(f"/held?more{n}")) for n in range(3)]
        with server.client() as quick:
            assert quick.send(get("/a")).reply().status == 200
        server.application.gate.set()
        assert sorted(client.reply().status for client in waiting) == [200, 503, 503]
        for client in running:
            assert client.reply().status == 200
        for client in running + waiting:
            client.close()


def test_a_lane_whose_threads_are_all_busy_stands_still() -> None:
    lane = Lane(1, waiting=10)
    with (
        served(lambda _request, _address: (lane, b"")) as server,
        server.client() as busy,
        server.client() as waits,
    ):
        busy.send(get("/held"))
        server.application.wait_for(1)
        assert not lane.stands_still(0)  # nobody waits for it
        waits.send(get("/a"))
        while not lane.threads.backlog:
            pass
        assert lane.stands_still(0)
        assert not lane.stands_still(3_600)
        server.application.gate.set()
        assert [busy.reply().status, waits.reply().status] == [200, 200]
        assert not lane.stands_still(0)


def test_a_call_whose_client_is_gone_is_not_run() -> None:
    lane = Lane(1, waiting=10)
    with served(lambda _request, _address: (lane, b"")) as server:
        with server.client() as busy, server.client() as behind:
            busy.send(get("/held"))
            server.application.wait_for(1)
            gone = server.client().send(get("/gone"))
            while not lane.threads.backlog:
                pass
            gone.sock.setsockopt(1, 13, b"\x01\0\0\0\0\0\0\0")  # SO_LINGER: closed by a reset
            gone.close()
            while len(server.worker.admission.connections) > 2:
                pass
            server.application.gate.set()
            assert busy.reply().status == 200
            assert behind.send(get("/behind")).reply().status == 200
        assert server.application.calls == ["/held", "/behind"]
