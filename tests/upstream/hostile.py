"""Servers that do harm: bytes, HTTP/2 frames and streams as a test writes them."""

import contextlib
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event, RequestReceived

from tests.patience import PATIENCE_SECONDS
from upstream.geyser import SERVICE
from upstream.grpc.status import GrpcStatus
from upstream.grpc.stream import GrpcStream

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STOPPED_SECONDS = 0.02

Speak = Callable[[socket.socket, threading.Event], None]


@contextlib.contextmanager
def speaking(speak: Speak) -> Iterator[int]:
    """The port of a server that reads the beginning of what each connection sends, then speaks;
    the event is set when it is to stop.
    """
    stopping = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            speak(connection, stopping)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                # What was said is on its way, also where the connection is broken right after.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                thread = threading.Thread(target=serve, args=[connection], daemon=True)
                thread.start()
                threads.append(thread)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            stopping.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive(), "a connection was not closed"


def says(*parts: bytes, ends: bool = True) -> Speak:
    """After a request these bytes; then the end of the connection, or silence."""

    def speak(connection: socket.socket, stopping: threading.Event) -> None:
        while connection.recv(65_536):
            for part in parts:
                connection.sendall(part)
            if ends:
                return
        stopping.wait()

    return speak


def trickles(beginning: bytes, piece: bytes = b" ") -> Speak:
    """After a request the beginning, then the piece again and again, for ever."""

    def speak(connection: socket.socket, stopping: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(beginning)
        while not stopping.wait(STOPPED_SECONDS):
            connection.sendall(piece)

    return speak


def gzip_bomb(megabytes: int) -> bytes:
    """A whole response of so many megabytes of zeros, compressed to a two hundredth of that."""
    press = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    packed = b"".join(press.compress(bytes(1 << 20)) for _ in range(megabytes)) + press.flush()
    return HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(packed), packed)


class Frames:
    """The server's side of one HTTP/2 connection, on which one request came."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        config = H2Configuration(client_side=False, header_encoding=None)
        self.http = H2Connection(config)
        self.http.initiate_connection()
        self.stream = 0
        self.heard: list[Event] = []
        while not self.stream:
            self.listen()

    def listen(self) -> None:
        """Reads once."""
        self.flush()
        data = self.socket.recv(65_536)
        if not data:
            raise ConnectionError("the client is gone")
        for event in self.http.receive_data(data):
            self.heard.append(event)
            if isinstance(event, RequestReceived):
                self.stream = event.stream_id or 0
        self.flush()

    def until(self, kind: type[Event]) -> None:
        """Reads until such an event has come."""
        while not any(isinstance(event, kind) for event in self.heard):
            self.listen()

    def flush(self) -> None:
        self.socket.sendall(self.http.data_to_send())

    def begin(self) -> None:
        """The response's head."""
        headers = [(":status", "200"), ("content-type", "application/grpc")]
        self.http.send_headers(self.stream, headers)
        self.flush()

    def message(self, packed: bytes) -> None:
        self.http.send_data(self.stream, b"\0" + len(packed).to_bytes(4, "big") + packed)
        self.flush()

    def end(self, *trailers: tuple[bytes, bytes]) -> None:
        self.http.send_headers(self.stream, list(trailers), end_stream=True)
        self.flush()

    def raw(self, kind: int, payload: bytes, *, flags: int = 0, stream: int = 0) -> None:
        """One frame, whatever h2 thinks of it."""
        head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
        self.socket.sendall(head + payload)

    def go_away(self, last_stream: int, reason: bytes = b"", code: int = 0) -> None:
        self.raw(7, last_stream.to_bytes(4, "big") + code.to_bytes(4, "big") + reason)


def framed(script: Callable[[Frames], None]) -> Speak:
    """A gRPC server that plays the script once a request came, and then only listens."""

    def speak(connection: socket.socket, _stopping: threading.Event) -> None:
        frames = Frames(connection)
        script(frames)
        while True:
            frames.listen()

    return speak


# From the number of the stream at this server and a message of it to what is sent instead.
Twist = Callable[[int, bytes], Iterator[bytes]]


@contextlib.contextmanager
def relay(
    geyser_url: str, twist: Twist, *, options: list[tuple[str, Any]] | None = None
) -> Iterator[tuple[str, list[bytes]]]:
    """A Geyser server on grpcio that gives on another one's stream as it is told to; its address
    and the requests that subscribed to it.
    """
    asked: list[bytes] = []

    def subscribe(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        number = len(asked)
        asked.append(next(requests))
        with GrpcStream(geyser_url, f"/{SERVICE}/Subscribe") as stream:
            context.add_callback(stream.close)
            stream.send(asked[-1])
            try:
                for message in stream:
                    yield from twist(number, message)
            except GrpcStatus as status:
                codes = {code.value[0]: code for code in grpc.StatusCode}
                context.abort(codes[status.code], status.text)

    def ask(method: str) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            with GrpcStream(geyser_url, f"/{SERVICE}/{method}") as call:
                call.send(request, last=True)
                return next(iter(call))

        return answer

    methods: dict[str, Any] = {
        "Subscribe": grpc.stream_stream_rpc_method_handler(subscribe),
        **{
            name: grpc.unary_unary_rpc_method_handler(ask(name))
            for name in ("GetSlot", "SubscribeReplayInfo", "GetVersion")
        },
    }
    server = grpc.server(futures.ThreadPoolExecutor(8), options=options or [])
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}", asked
    finally:
        server.stop(None).wait()
