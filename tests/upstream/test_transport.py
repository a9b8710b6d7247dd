"""The stream's transport against a gRPC server that is not ours."""

import random
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from tests.patience import PATIENCE_SECONDS
from upstream.grpc import status as codes
from upstream.grpc.status import GrpcStatus
from upstream.grpc.stream import GrpcStream

Handler = Callable[[Iterator[bytes], grpc.ServicerContext], Iterator[bytes]]


@contextmanager
def server(**handlers: Handler) -> Iterator[str]:
    """The address of a grpcio server with these methods of the service `t.T`."""
    methods = {name: grpc.stream_stream_rpc_method_handler(each) for name, each in handlers.items()}
    # grpcio calls off a client that pings more often than every few minutes; tests are in a hurry.
    running = grpc.server(
        futures.ThreadPoolExecutor(4), options=[("grpc.http2.max_ping_strikes", 0)]
    )
    running.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t.T", methods),))
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.stop(None)


def ended(stream: GrpcStream) -> tuple[list[bytes], GrpcStatus]:
    """Everything that came, and how the call ended."""
    received = []
    with pytest.raises(GrpcStatus) as caught:
        for message in stream:
            received.append(message)
    return received, caught.value


def test_messages_of_every_size_arrive_whole_and_in_order():
    chance = random.Random(3)
    sent = [chance.randbytes(chance.choice([0, 1, 90, 1_000, 20_000])) for _ in range(3_000)]
    sent[1_500] = chance.randbytes(40 * 1_048_576)  # more than any window

    def many(_requests: Iterator[bytes], _context: Any) -> Iterator[bytes]:
        yield from sent

    with server(many=many) as url, GrpcStream(url, "/t.T/many") as stream:
        stream.send(b"")
        received, status = ended(stream)
    assert received == sent
    assert status.code == codes.OK


def test_what_we_send_arrives_too_however_much_it_is():
    def echo(requests: Iterator[bytes], _context: Any) -> Iterator[bytes]:
        for request in requests:
            yield request[::-1]

    sent = [b"abc", b"", bytes(range(256)) * 4_000]
    with server(echo=echo) as url, GrpcStream(url, "/t.T/echo") as stream:
        for place, message in enumerate(sent):
            stream.send(message, last=place == len(sent) - 1)
        received, status = ended(stream)
    assert received == [message[::-1] for message in sent]
    assert status.code == codes.OK


def test_the_metadata_is_sent_and_a_refusal_told_in_the_servers_words():
    def guarded(_requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        token = dict(context.invocation_metadata()).get("x-token")
        context.abort(grpc.StatusCode.UNAUTHENTICATED, f"no: {token} é 100 %")
        yield b""

    with (
        server(guarded=guarded) as url,
        GrpcStream(url, "/t.T/guarded", metadata={"x-token": "s3"}) as stream,
    ):
        stream.send(b"")
        received, status = ended(stream)
    assert received == []
    assert (status.code, status.text) == (codes.UNAUTHENTICATED, "no: s3 é 100 %")
    assert str(status) == "UNAUTHENTICATED: no: s3 é 100 %"


def test_a_method_that_is_not_there_is_unimplemented():
    with server() as url, GrpcStream(url, "/t.T/absent") as stream:
        stream.send(b"")
        assert ended(stream)[1].code == codes.UNIMPLEMENTED


def test_a_server_that_ends_is_unavailable_and_keeps_what_it_sent():
    leaving = threading.Event()

    def slow(_requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        yield b"one"
        leaving.wait(PATIENCE_SECONDS)
        context.abort(grpc.StatusCode.UNAVAILABLE, "going down")

    with server(slow=slow) as url, GrpcStream(url, "/t.T/slow") as stream:
        stream.send(b"")
        messages = iter(stream)
        assert next(messages) == b"one"
        leaving.set()
        with pytest.raises(GrpcStatus) as caught:
            next(messages)
    assert caught.value.code == codes.UNAVAILABLE


def test_a_silent_server_that_answers_pings_is_waited_for():
    waiting = threading.Event()

    def silent(_requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        context.add_callback(waiting.set)
        waiting.wait(PATIENCE_SECONDS)
        yield b""

    def waited_for(silence_seconds: float) -> bool:
        """For three times as long without a message."""
        waiting.clear()
        with GrpcStream(url, "/t.T/silent", silence_seconds=silence_seconds) as stream:
            # grpcio answers HTTP/2 pings below the handler: no messages, but they are heard.
            threading.Timer(3 * silence_seconds, waiting.set).start()
            stream.send(b"")
            received, status = ended(stream)
        return (received, status.code) == ([b""], codes.OK)

    with server(silent=silent) as url:
        # A busy machine answers a ping late, too.
        assert any(waited_for(seconds) for seconds in (0.3, 2.0, 10.0))


def test_a_server_that_does_not_even_answer_pings_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as door:
        url = f"http://127.0.0.1:{door.getsockname()[1]}"
        with GrpcStream(url, "/t.T/any", silence_seconds=0.3) as stream:
            status = ended(stream)[1]
    assert (status.code, status.text) == (codes.UNAVAILABLE, "nothing came for 0 s")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 400])
def test_what_is_not_http2_is_told(answer: bytes):
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=lambda: door.accept()[0].sendall(answer)).start()
        with GrpcStream(f"http://127.0.0.1:{door.getsockname()[1]}", "/t.T/any") as stream:
            assert ended(stream)[1].code in (codes.INTERNAL, codes.UNAVAILABLE)


def test_nobody_there_is_unavailable_at_once():
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with pytest.raises(GrpcStatus) as caught:
        GrpcStream(f"http://127.0.0.1:{port}", "/t.T/any")
    assert caught.value.code == codes.UNAVAILABLE


def test_closing_from_another_thread_ends_the_reading():
    waiting = threading.Event()

    def silent(_requests: Iterator[bytes], _context: Any) -> Iterator[bytes]:
        waiting.wait(PATIENCE_SECONDS)
        yield b""

    with server(silent=silent) as url, GrpcStream(url, "/t.T/silent") as stream:
        stream.send(b"")
        timer = threading.Timer(0.2, stream.close)
        timer.start()
        status = ended(stream)[1]
        waiting.set()
    assert status.code == codes.CANCELLED
