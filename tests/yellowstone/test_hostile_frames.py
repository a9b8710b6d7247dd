"""Frames of HTTP/2 that cost their sender nothing, and calls that are never finished."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    PingAckReceived,
    ResponseReceived,
    StreamReset,
)

from tests.patience import PATIENCE_SECONDS
from tests.yellowstone.conftest import Geyser
from upstream.protobuf import geyser_pb2 as schema

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def _frame(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


_SETTINGS = _frame(4)
FLOODS = {
    "PING": _frame(6, bytes(8)),
    "SETTINGS": _SETTINGS,
    "PRIORITY": _frame(2, struct.pack(">IB", 3, 1), stream=1),
    "WINDOW_UPDATE": _frame(8, struct.pack(">I", 1)),
    "unknown": _frame(0x42),
}


class Client:
    """HTTP/2 by h2, with what came as events."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self.http = H2Connection(H2Configuration(header_encoding="utf-8"))
        self.http.initiate_connection()
        self.flush()

    def call(self, name: str, key: str | None, *, ends: bool = False) -> int:
        number = self.http.get_next_available_stream_id()
        headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", f"/geyser.Geyser/{name}"),
            (":authority", "127.0.0.1"),
            ("content-type", "application/grpc"),
            *([] if key is None else [("x-token", key)]),
        ]
        self.http.send_headers(number, headers, end_stream=ends)
        self.flush()
        return number

    def send(self, number: int, data: bytes) -> None:
        self.http.send_data(number, data)
        self.flush()

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def flush(self) -> None:
        self.send_raw(self.http.data_to_send())

    def events(self, seconds: float = PATIENCE_SECONDS) -> Iterator[Event]:
        """What comes, until nothing came for so long."""
        self._socket.settimeout(seconds)
        with suppress(TimeoutError):
            while data := self._socket.recv(65_536):
                yield from self.http.receive_data(data)
                self.flush()

    def close(self) -> None:
        self._socket.close()


@contextmanager
def flooding(port: int, flood: bytes) -> Iterator[None]:
    """A client that sends nothing else, and reads what comes."""
    over = threading.Event()

    def run() -> None:
        with closing(socket.create_connection(("127.0.0.1", port))) as peer, suppress(OSError):
            peer.settimeout(0.02)
            peer.sendall(_PREFACE + _SETTINGS)
            rest = b""
            while not over.is_set():
                rest = rest or flood * (65_536 // len(flood))
                with suppress(TimeoutError):
                    rest = rest[peer.send(rest) :]
                with suppress(TimeoutError):
                    peer.recv(262_144)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_cheap_frames_delays_no_one_else(geyser: Geyser, name: str) -> None:
    with geyser.channel() as channel:
        ping = channel.unary_unary(
            "/geyser.Geyser/Ping",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=schema.PongResponse.FromString,
        )

        def time_of_calls() -> float:
            began = time.monotonic()
            for count in range(10):
                metadata = [("x-token", geyser.key)]
                request = schema.PingRequest(count=count)
                assert ping(request, metadata=metadata, timeout=PATIENCE_SECONDS).count == count
            return time.monotonic() - began

        time_of_calls()
        calm = time_of_calls()
        with flooding(geyser.port, FLOODS[name]):
            flooded = min(time_of_calls() for _ in range(3))
    # One call took seconds when a flood was read as it came, ten took half a minute.
    assert flooded < max(60 * calm, 3.0), f"{flooded:.3f} s beside the flood, {calm:.3f} s without"


def test_a_client_that_goes_away_has_its_calls_finished(geyser: Geyser) -> None:
    # Go's ClientConn.Shutdown says so, and waits for the calls that run.
    with closing(Client(geyser.port)) as client:
        number = client.call("Ping", geyser.key)
        client.send_raw(
            _frame(7, struct.pack(">II", 0, ErrorCodes.NO_ERROR)) + _frame(6, b"is there")
        )
        answered = next(event for event in client.events() if isinstance(event, PingAckReceived))
        assert answered.ping_data == b"is there"
        request = schema.PingRequest(count=7).SerializeToString()
        client.send(number, b"\0" + struct.pack(">I", len(request)) + request)
        response = next(event for event in client.events() if isinstance(event, DataReceived))
        assert schema.PongResponse.FromString((response.data or b"")[5:]).count == 7


def test_a_refused_stream_is_reset_only_after_its_client_had_time_to_half_close(
    geyser: Geyser,
) -> None:
    with closing(Client(geyser.port)) as client:
        number = client.call("Subscribe", None)
        for event in client.events():
            if isinstance(event, ResponseReceived):
                break
        # What is still under way for the stream is no error.
        client.send(number, b"\0" + bytes(4))
        client.http.end_stream(number)
        client.flush()
        found = list(client.events(0.5))
    assert not [event for event in found if isinstance(event, StreamReset | ConnectionTerminated)]


def test_a_stream_that_its_client_never_half_closes_is_reset_at_last(
    geyser: Geyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grpcserver import transport

    monkeypatch.setattr(transport, "_HALF_CLOSE_SECONDS", 0.2)
    with closing(Client(geyser.port)) as client:
        number = client.call("Subscribe", None)
        reset = next(event for event in client.events() if isinstance(event, StreamReset))
    assert (reset.stream_id, reset.error_code) == (number, ErrorCodes.NO_ERROR)


def test_a_call_above_the_most_is_refused_alone(geyser: Geyser) -> None:
    with closing(Client(geyser.port)) as client:
        # Each waits for its request.
        numbers = [client.call("Ping", geyser.key) for _ in range(100)]
        # h2's client keeps to the limit that the service names: this one does not know it.
        client.http.remote_settings.max_concurrent_streams = 1_000
        surplus = client.call("Ping", geyser.key)
        reset = next(event for event in client.events() if isinstance(event, StreamReset))
        assert (reset.stream_id, reset.error_code) == (surplus, ErrorCodes.REFUSED_STREAM)
        for number in numbers:
            client.http.reset_stream(number)
        client.flush()
        assert not [e for e in client.events(0.3) if isinstance(e, ConnectionTerminated)]


def test_requests_that_are_never_whole_are_bounded(
    geyser: Geyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grpcserver import transport

    monkeypatch.setattr(transport, "MOST_UNFINISHED_OF_CONNECTION", 40_000)
    with closing(Client(geyser.port)) as client:
        begun = b"\0" + (1_000_000).to_bytes(4, "big") + bytes(7_000)
        for _ in range(8):
            client.send(client.call("Subscribe", geyser.key), begun)
        found = next(
            event
            for event in client.events()
            if isinstance(event, ResponseReceived) or hasattr(event, "headers")
            if dict(event.headers).get("grpc-status") == "8"
        )
        assert dict(found.headers)["grpc-message"].startswith("unfinished_requests")
    assert geyser.call("Ping", schema.PingRequest(count=1)).count == 1


def test_a_unary_call_waits_for_its_request_no_longer_than_a_while(
    geyser: Geyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grpcserver import call

    monkeypatch.setattr(call, "_REQUEST_SECONDS", 0.2)
    with closing(Client(geyser.port)) as client:
        client.call("Ping", geyser.key)
        answer = next(event for event in client.events() if isinstance(event, ResponseReceived))
    assert dict(answer.headers)["grpc-status"] == "4"
