"""The stream's transport against servers that lie, leave, explode and stammer."""

import random
import socket
import struct
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from h2.events import DataReceived, PingAckReceived
from h2.settings import SettingCodes

from tests.patience import PATIENCE_SECONDS
from tests.upstream.hostile import Frames, framed, says, speaking, trickles
from upstream.geyser.client import GeyserStream, first_available, newest_slot, stream_error
from upstream.geyser.errors import FromSlotTooOld, StreamError, StreamRefused, Unreachable
from upstream.grpc import status as codes
from upstream.grpc.status import GrpcStatus
from upstream.grpc.stream import LARGEST_MESSAGE, GrpcStream
from upstream.protobuf import geyser_pb2 as schema

NOBODYS_STREAM = 2**31 - 1


def played(script: Any, **limits: float) -> tuple[list[bytes], GrpcStatus]:
    """The messages that came from a server that plays the script, and how the call ended."""
    received = []
    with (
        speaking(framed(script)) as port,
        GrpcStream(f"http://127.0.0.1:{port}", "/t.T/any", **limits) as stream,
    ):
        stream.send(b"")
        with pytest.raises(GrpcStatus) as caught:
            for message in stream:
                received.append(message)
    return received, caught.value


@pytest.mark.parametrize(
    ("trailers", "code", "text"),
    [
        ([(b"grpc-status", b"9" * 5_000)], codes.UNKNOWN, ""),
        ([(b"grpc-status", b"17")], codes.UNKNOWN, ""),
        ([(b"grpc-status", b"-1")], codes.UNKNOWN, ""),
        ([(b"grpc-status", b"")], codes.UNKNOWN, ""),
        ([(b"grpc-status", b"\xb2")], codes.UNKNOWN, ""),
        ([(b"grpc-status", "٣".encode())], codes.UNKNOWN, ""),
        ([(b"grpc-status", b"14"), (b"grpc-message", b"%ff%zz%")], codes.UNAVAILABLE, "%zz%"),
        ([(b"grpc-status", b"14"), (b"grpc-message", b"\xff\xfe")], codes.UNAVAILABLE, ""),
        (
            [(b"grpc-status", b"14"), (b"grpc-message", b"a%0Ab%00c")],
            codes.UNAVAILABLE,
            "a b c",
        ),
        (
            [(b"grpc-status", b"14"), (b"grpc-message", b"x" * 9_000)],
            codes.UNAVAILABLE,
            "x" * 500,
        ),
        ([(b"x", b"\xff"), (b"grpc-status", b"5")], codes.NOT_FOUND, ""),
    ],
)
def test_trailers_of_any_kind_are_a_status(
    trailers: list[tuple[bytes, bytes]], code: int, text: str
) -> None:
    def script(server: Frames) -> None:
        server.begin()
        server.message(b"one")
        server.http.config.validate_outbound_headers = False
        server.http.config.normalize_outbound_headers = False
        server.end(*trailers)

    received, status = played(script)
    assert received == [b"one"]
    assert status.code == code
    assert status.text.replace("\ufffd", "") == text
    assert isinstance(stream_error(status), StreamError)


def test_a_transaction_without_what_came_of_it_ends_the_stream() -> None:
    transaction = {"signature": bytes(64), "index": 3}
    update = schema.SubscribeUpdate(transaction={"slot": 7, "transaction": transaction})

    def script(server: Frames) -> None:
        server.begin()
        server.message(update.SerializeToString())

    with (
        speaking(framed(script)) as port,
        GeyserStream(f"http://127.0.0.1:{port}") as stream,
        pytest.raises(StreamRefused, match="transaction 3 of slot 7 comes without its meta"),
    ):
        next(iter(stream))


def test_a_response_that_is_not_http_200_is_a_status() -> None:
    for told, code in (("404", codes.UNIMPLEMENTED), ("999", codes.UNAVAILABLE)):

        def script(server: Frames, told: str = told) -> None:
            server.http.send_headers(server.stream, [(":status", told)], end_stream=True)
            server.flush()

        assert played(script)[1].code == code


def test_a_message_above_the_bound_ends_the_call_before_it_comes() -> None:
    def script(server: Frames) -> None:
        server.begin()
        server.message(b"one")
        server.http.send_data(server.stream, b"\0" + (2**32 - 1).to_bytes(4, "big"))
        server.flush()

    received, status = played(script)
    assert received == [b"one"]
    assert (status.code, status.text) == (
        codes.INTERNAL,
        "a message of 4294967295 bytes, and 67108864 are the most",
    )
    assert type(stream_error(status)) is Unreachable


def test_a_flood_costs_no_more_memory_than_one_message() -> None:
    def script(server: Frames) -> None:
        server.begin()
        size = LARGEST_MESSAGE + 1
        server.http.send_data(server.stream, b"\0" + size.to_bytes(4, "big"))
        while True:
            window = server.http.local_flow_control_window(server.stream)
            if window:
                server.http.send_data(server.stream, bytes(min(window, 16_384)))
                server.flush()
            else:
                server.listen()

    tracemalloc.start()
    try:
        played(script)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_server_that_goes_away_is_drained() -> None:
    """As grpc-go does it when a connection has its age: it says so, waits for the answer to a ping,
    says it again with the last stream, and lets the stream end.
    """

    def script(server: Frames) -> None:
        server.begin()
        server.message(b"one")
        server.http.ping(b"before  ")
        server.flush()
        server.go_away(NOBODYS_STREAM, b"max_age")
        server.http.ping(b"goaway!!")
        server.flush()
        while sum(isinstance(event, PingAckReceived) for event in server.heard) < 2:
            server.listen()
        server.message(b"two")
        server.go_away(server.stream, b"max_age")
        for number in range(200):
            server.message(b"%d" % number)
        server.end((b"grpc-status", b"14"), (b"grpc-message", b"later"))

    received, status = played(script)
    assert received == [b"one", b"two", *(b"%d" % number for number in range(200))]
    assert (status.code, status.text) == (codes.UNAVAILABLE, "later")


def test_what_comes_in_one_piece_with_going_away_is_not_lost() -> None:
    def script(server: Frames) -> None:
        server.begin()
        server.http.send_data(server.stream, b"\0\0\0\0\1a")
        before = server.http.data_to_send()
        server.http.ping(b"between ")
        ping = server.http.data_to_send()
        server.http.send_data(server.stream, b"\0\0\0\0\1b")
        after = server.http.data_to_send()
        leaving = b"\0\0\x08\x07\0" + bytes(4) + NOBODYS_STREAM.to_bytes(4, "big") + bytes(4)
        server.socket.sendall(before + ping + leaving + after + leaving)
        server.until(PingAckReceived)
        server.end((b"grpc-status", b"0"))

    assert played(script)[0] == [b"a", b"b"]


@pytest.mark.parametrize(
    ("last", "code", "text"),
    [
        (NOBODYS_STREAM, 0, "the server goes away bye"),  # and closes without a status
        (0, 0, "the server goes away bye"),  # it did not take the call
        (NOBODYS_STREAM, 11, "the server goes away bye"),  # for a fault that it finds in us
    ],
)
def test_a_server_that_goes_away_without_a_status_is_unavailable(
    last: int, code: int, text: str
) -> None:
    def script(server: Frames) -> None:
        server.begin()
        server.message(b"one")
        server.go_away(last, b"bye", code)
        if last and not code:
            server.message(b"two")
            server.socket.close()

    received, status = played(script)
    assert received[:1] == [b"one"]
    assert received[1:] == ([b"two"] if last and not code else [])
    assert (status.code, status.text) == (codes.UNAVAILABLE, text)


def test_what_came_before_the_connection_broke_is_read() -> None:
    """Our acknowledgement of the server's settings meets a connection that it has reset by then."""
    left = threading.Event()

    def script(server: Frames) -> None:
        server.begin()
        server.message(b"one")
        server.message(b"two")
        server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.socket.close()
        left.set()

    with (
        speaking(framed(script)) as port,
        GrpcStream(f"http://127.0.0.1:{port}", "/t.T/any") as stream,
    ):
        stream.send(b"")
        assert left.wait(PATIENCE_SECONDS)
        messages = iter(stream)
        assert [next(messages), next(messages)] == [b"one", b"two"]
        with pytest.raises(GrpcStatus) as caught:
            next(messages)
    assert caught.value.code == codes.UNAVAILABLE


def test_a_reset_by_a_server_that_goes_away_says_that_it_does() -> None:
    def script(server: Frames) -> None:
        server.begin()
        server.go_away(NOBODYS_STREAM)
        server.http.reset_stream(server.stream, 8)
        server.flush()

    status = played(script)[1]
    assert (status.code, status.text) == (codes.UNAVAILABLE, "the server goes away")


def test_requests_go_out_while_the_server_goes_away() -> None:
    """The server's pings in the stream are answered there: without that it ends the stream."""

    def script(server: Frames) -> None:
        server.begin()
        server.until(DataReceived)
        server.go_away(NOBODYS_STREAM)
        server.message(b"ping")
        while sum(isinstance(event, DataReceived) for event in server.heard) < 2:
            server.listen()
        server.message(b"heard")
        server.end((b"grpc-status", b"0"))

    received = []
    with (
        speaking(framed(script)) as port,
        GrpcStream(f"http://127.0.0.1:{port}", "/t.T/any") as stream,
        pytest.raises(GrpcStatus, match="OK"),
    ):
        stream.send(b"first")
        for message in stream:
            received.append(message)
            if message == b"ping":
                stream.send(b"pong")
    assert received == [b"ping", b"heard"]


def test_grpcio_ages_a_connection_and_nothing_is_lost_before_its_end() -> None:
    """Messages without end from a server that ends its connections by age."""
    numbers: list[int] = []
    ended = threading.Event()

    def many(_requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        context.add_callback(ended.set)
        while not ended.wait(0.005):
            numbers.append(len(numbers))
            yield b"%d" % numbers[-1]

    options = [("grpc.max_connection_age_ms", 300), ("grpc.max_connection_age_grace_ms", 1_000)]
    server = grpc.server(futures.ThreadPoolExecutor(4), options=options)
    methods = {"many": grpc.stream_stream_rpc_method_handler(many)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t.T", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    received = []
    try:
        with (
            GrpcStream(f"http://127.0.0.1:{port}", "/t.T/many") as stream,
            pytest.raises(GrpcStatus) as caught,
        ):
            stream.send(b"")
            for message in stream:
                received.append(int(message))
        assert ended.wait(PATIENCE_SECONDS)
    finally:
        server.stop(None).wait()
    assert caught.value.code == codes.UNAVAILABLE
    assert received == numbers[: len(received)]
    # It was told of the end when a quarter of them had come, and was given the rest.
    assert len(received) > len(numbers) * 0.9


def test_a_call_that_is_answered_with_pings_alone_is_over_in_time() -> None:
    def script(server: Frames) -> None:
        server.begin()
        while True:
            server.http.ping(b"tidemark")
            server.listen()

    status = played(script, whole_seconds=0.3)[1]
    assert (status.code, status.text) == (codes.DEADLINE_EXCEEDED, "no answer within 0.3 s")
    assert type(stream_error(status)) is Unreachable


@pytest.mark.parametrize(
    ("kind", "payload", "flags"),
    [
        (4, b"\0\4\xff\xff\xff\xff", 0),  # a window above the largest
        (4, b"\0\5\0\0\0\1", 0),  # frames below the smallest
        (4, b"\0", 0),
        (8, bytes(4), 0),  # a window widened by nothing
        (8, b"\x7f\xff\xff\xff", 0),  # and beyond the largest
        (1, b"\xff" * 60, 4),  # a head that is none
        (5, bytes(9), 4),  # a push, which was forbidden
        (9, b"\xff", 4),  # the rest of no head
        (0, b"\xff" + bytes(3), 8),  # more padding than bytes
        (7, b"\0", 0),
        (3, b"\0", 0),
    ],
)
@pytest.mark.parametrize("on_stream", [False, True])
def test_frames_that_are_none_end_the_call_with_a_status(
    kind: int, payload: bytes, flags: int, on_stream: bool
) -> None:
    def script(server: Frames) -> None:
        server.begin()
        server.message(b"one")
        server.raw(kind, payload, flags=flags, stream=server.stream if on_stream else 0)
        server.socket.shutdown(1)

    received, status = played(script)
    assert received in ([b"one"], [])
    assert status.code in (codes.INTERNAL, codes.UNAVAILABLE)


def test_frames_at_random_end_the_call_with_a_status() -> None:
    chance = random.Random(13)

    def script(server: Frames) -> None:
        server.begin()
        for _ in range(6):
            payload = chance.randbytes(chance.choice([0, 1, 4, 5, 6, 8, 9, 40]))
            server.raw(
                chance.randrange(12),
                payload,
                flags=chance.choice([0, 1, 4, 8, 32, 255]),
                stream=chance.choice([0, server.stream, 2, 3, 2**31 - 1]),
            )
        server.socket.shutdown(1)

    for _ in range(150):
        assert isinstance(played(script)[1], GrpcStatus)


def test_a_server_that_changes_its_settings_all_the_time_is_served() -> None:
    def script(server: Frames) -> None:
        server.begin()
        for number in range(300):
            server.http.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: number})
            server.message(b"%d" % number)
        server.end((b"grpc-status", b"0"))

    received, status = played(script)
    assert len(received) == 300
    assert status.code == codes.OK


@pytest.mark.parametrize("speak", [says(b"\0" * 400), trickles(b"", b"\0")])
def test_what_the_unary_calls_get_from_a_stranger_is_an_error(speak: Any) -> None:
    with speaking(speak) as port:
        for ask in (first_available, newest_slot):
            with pytest.raises(StreamError):
                ask(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("last available: 17", 17),
        ("last available: " + "9" * 5_000, None),
        ("last available: ٣", None),
        ("last available: ", None),
    ],
)
def test_the_oldest_slot_is_read_from_a_refusal(text: str, slot: int | None) -> None:
    error = stream_error(GrpcStatus(codes.OUT_OF_RANGE, text))
    assert isinstance(error, FromSlotTooOld)
    assert error.first_available == slot
