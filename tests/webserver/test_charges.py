"""What requests cost is their address's, unless the application knows who sent them."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.webserver.application import Served, served
from tests.webserver.client import Client
from webserver import worker
from webserver.application import OnLoop
from webserver.connections import Connection
from webserver.requests import Request

GET = "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n"
NOW = GET.format("/now")
KNOWN = GET.format("/known")
REFUSED = GET.format("/known?refused")


@pytest.fixture
def costly(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer of the server itself uses up a share for long, and no one waits for it."""
    monkeypatch.setattr(worker, "BY_SERVER", 1_000.0)
    monkeypatch.setattr(worker, "LONGEST_WAIT", 0.01)


@pytest.fixture
def server(costly: None) -> Iterator[Served]:
    with served() as found:
        yield found


def status(client: Client, request: str) -> int:
    return client.send(request).reply().status


def test_an_address_that_used_up_its_share_is_refused_and_another_is_not(server: Served) -> None:
    first, again = server.client("127.0.1.1"), server.client("127.0.1.1")
    assert status(first, NOW) == 200
    assert [status(first, NOW), status(again, NOW), status(again, KNOWN)] == [429] * 3
    assert status(server.client("127.0.1.2"), NOW) == 200


def test_who_is_known_goes_on_beside_others_of_the_address(server: Served) -> None:
    known, other = server.client("127.0.1.1"), server.client("127.0.1.1")
    # The second has the head of the first, which is known from then on.
    assert [status(known, KNOWN) for _ in range(2)] == [200, 200]
    assert [status(other, NOW), status(other, NOW)] == [200, 429]
    assert [status(known, KNOWN) for _ in range(20)] == [200] * 20


def test_who_is_known_and_refused_is_charged_like_any_other(server: Served) -> None:
    known, other = server.client("127.0.1.1"), server.client("127.0.1.1")
    assert [status(known, REFUSED) for _ in range(2)] == [429, 429]
    assert status(other, NOW) == 200
    assert status(known, REFUSED) == 429
    # The third was not the application's.
    assert server.application.calls == ["/known"] * 2


def test_a_proxys_requests_are_charged_to_the_clients_that_it_names(costly: None) -> None:
    def client_of(request: Request, _address: str) -> str:
        return (request.header(b"x-client") or b"").decode()

    def of(client: str) -> str:
        return NOW.replace("\r\n\r\n", f"\r\nX-Client: {client}\r\n\r\n")

    with served(client_of=client_of, is_proxy=lambda _address: True) as server:
        proxy = server.client()
        assert [status(proxy, of("192.0.2.1")) for _ in range(2)] == [200, 429]
        assert status(proxy, of("192.0.2.2")) == 200
        # A /64 is one client.
        assert [status(proxy, of(f"2001:db8::{n}")) for n in (1, 2)] == [200, 429]


def test_requests_in_one_write_leave_others_their_turn() -> None:
    """They were all read and answered in one turn of the loop."""
    count = itertools.count()
    answered = 0

    def counted(answer: OnLoop) -> OnLoop:
        def on_loop(request: Request, connection: Connection) -> Any:
            nonlocal answered
            if request.path == "/now" and request.query == "many":
                answered = next(count) + 1
            return answer(request, connection)

        return on_loop

    with served() as server:
        server.worker._on_loop = counted(server.worker._on_loop)
        many, other = server.client("127.0.1.1"), server.client("127.0.1.2")
        assert status(other, NOW) == 200
        many.send(GET.format("/now?many") * 3_000)
        many.reply()
        assert status(other, NOW) == 200
        assert 0 < answered < 2_000
        for _ in range(2_999):
            assert many.reply().status == 200
