"""Places and calls that an address may have at the gRPC port, over all of its connections."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived

from grpcserver import bounds
from tests.patience import PATIENCE_SECONDS
from tests.yellowstone.conftest import serving_geyser

HEALTH = "/grpc.health.v1.Health/"
# A request that names no service.
EMPTY = bytes(5)


class Client:
    """HTTP/2 by h2, from an address of the loopback."""

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection(
            ("127.0.0.1", port), PATIENCE_SECONDS, source_address=(source, 0)
        )
        self.http = H2Connection(H2Configuration(header_encoding="utf-8"))
        self.http.initiate_connection()
        self.flush()

    def begin(self, name: str) -> int:
        number = self.http.get_next_available_stream_id()
        headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", HEALTH + name),
            (":authority", "127.0.0.1"),
            ("content-type", "application/grpc"),
        ]
        self.http.send_headers(number, headers)
        return number

    def flush(self) -> None:
        self.socket.sendall(self.http.data_to_send())

    def until(self, kind: type[Any]) -> Any:
        """The next event of the kind."""
        while data := self.socket.recv(65_536):
            for event in self.http.receive_data(data):
                if isinstance(event, kind):
                    return event
            self.flush()
        raise EOFError

    def check(self, name: str = "Check") -> bytes:
        """The answer of the health check."""
        number = self.begin(name)
        self.http.send_data(number, EMPTY, end_stream=name == "Check")
        self.flush()
        data: bytes = self.until(DataReceived).data
        return data

    def refusal(self) -> tuple[ErrorCodes | int | None, bytes | None]:
        """The code and text with which the server ends the connection."""
        event = self.until(ConnectionTerminated)
        return event.error_code, event.additional_data

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def serve(
    transactional_db: None, empty_redis: None, settings: Any
) -> Iterator[Callable[..., Callable[..., Client]]]:
    """Serves with these settings; gives what opens a connection."""
    with ExitStack() as opened:

        def start(**values: int) -> Callable[..., Client]:
            for name, value in values.items():
                setattr(settings, name, value)
            port = opened.enter_context(serving_geyser())
            return lambda *source: opened.enter_context(closing(Client(port, *source)))

        yield start


def test_an_address_with_too_many_connections_is_told_so(serve: Any) -> None:
    connect = serve(MAX_CONNECTIONS_PER_ADDRESS=2)
    first, second = connect(), connect()
    assert first.check() and second.check()
    expected = (ErrorCodes.ENHANCE_YOUR_CALM, b"too_many_connections")
    assert connect().refusal() == expected
    assert connect("127.0.1.2").check()
    assert first.check()


def test_a_full_door_closes_who_never_called_then_who_is_idle_and_nobody_else(serve: Any) -> None:
    connect = serve(MAX_CONNECTIONS=3)
    watching, idle, silent = connect(), connect(), connect()
    assert watching.check("Watch") and idle.check()
    assert connect().check("Watch")
    assert silent.refusal()[0] == ErrorCodes.NO_ERROR
    assert connect().check("Watch")
    assert idle.refusal()[0] == ErrorCodes.NO_ERROR
    # All have calls now.
    expected = (ErrorCodes.ENHANCE_YOUR_CALM, b"too_many_connections")
    assert connect("127.0.1.2").refusal() == expected


def test_calls_that_are_reset_count_over_all_connections_of_an_address(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "_CALLS_AT_ONCE", 10.0)
    monkeypatch.setattr(bounds, "_CALLS_PER_SECOND", 0.001)
    connect = serve()
    for turn in range(2):
        client = connect()
        for _ in range(6):
            client.http.reset_stream(client.begin("Check"))
        client.flush()
        if turn:
            assert client.refusal() == (ErrorCodes.ENHANCE_YOUR_CALM, b"too_many_calls")
        else:
            client.http.ping(b"answered")
            client.flush()
            assert client.socket.recv(1)
        client.close()
    assert connect("127.0.1.2").check()
