"""One gRPC call by one thread, read many messages at a time.

grpcio's Python side spends 55 µs on each message that it receives, which at a validator's rate is
most of a core; a full HTTP/2 frame holds twenty messages and costs as much as one
(docs/decisions/stream-client.md).
"""

import contextlib
import math
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Self

from h2.exceptions import H2Error

from upstream.foreign_text import fit
from upstream.grpc.calls import ClientCall, Http2, tls_context
from upstream.grpc.status import CANCELLED, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, GrpcStatus
from upstream.http.errors import BadAddress
from upstream.http.requests import Address, read_url

_READ = 262_144
_TURN_SECONDS = 1.0
# An account has 10 MB at most, and a block's own message, with an epoch's rewards, less.
LARGEST_MESSAGE = 64 * 1_048_576


class GrpcStream:
    """A call to `path` of the server at `url` (http or https): `send` messages, iterate over what
    comes. The iteration ends with GrpcStatus, also where the call ended well, and so does a wait
    of more than `silence_seconds`, a call of more than `whole_seconds`, and a message of more than
    LARGEST_MESSAGE. One thread uses it; `close` may come from any.
    """

    def __init__(
        self,
        url: str,
        path: str,
        *,
        metadata: Mapping[str, str] | None = None,
        connect_seconds: float = 10.0,
        silence_seconds: float = 60.0,
        whole_seconds: float = math.inf,
    ) -> None:
        # Called at least every second during iteration.
        self.on_turn: Callable[[], None] | None = None
        self._silence = silence_seconds
        self._whole = whole_seconds
        self._deadline = time.monotonic() + whole_seconds
        self._closed = False
        try:
            server = read_url(url)
        except BadAddress as error:
            raise GrpcStatus(UNAVAILABLE, str(error)) from None
        self._socket = _connect(server, connect_seconds)
        self._http = Http2()
        self._call = ClientCall(self._http, server, path, metadata or {}, largest=LARGEST_MESSAGE)
        self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._socket.close()

    def close(self) -> None:
        """Ends the call: a pending read gets CANCELLED."""
        self._closed = True
        with contextlib.suppress(OSError):  # the server was first
            self._socket.shutdown(socket.SHUT_RDWR)

    def send(self, message: bytes, *, last: bool = False) -> None:
        """Sends one message; what the server's window does not take now goes out as it reads."""
        self._call.send(message, last=last)
        self._flush()

    def __iter__(self) -> Iterator[bytes]:
        heard_at = pinged_at = time.monotonic()
        while True:
            yield from self._call.messages()
            if self._call.status is not None:
                raise self._call.status
            if self.on_turn is not None:
                self.on_turn()
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise GrpcStatus(DEADLINE_EXCEEDED, f"no answer within {self._whole:g} s")
            if not self._is_readable(min(self._silence / 3, _TURN_SECONDS, left)):
                now = time.monotonic()
                if now - heard_at > self._silence:
                    raise GrpcStatus(UNAVAILABLE, f"nothing came for {self._silence:.0f} s")
                if now - pinged_at > self._silence / 4:
                    pinged_at = now
                    self._http.ping(b"tidemark")
                    self._flush()
                continue
            heard_at = time.monotonic()
            self._receive()

    def _is_readable(self, seconds: float) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        try:
            return bool(select.select([self._socket], [], [], seconds)[0])
        except (OSError, ValueError):  # closed by another thread
            return True

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_READ)
        except OSError as error:
            raise self._broken(error.strerror or str(error)) from None
        if not data:
            raise self._broken("the server closed the connection")
        try:
            for event in self._http.receive_data(data):
                self._call.take(event)
            self._call.acknowledge()
            self._call.push()
        except (H2Error, ValueError, LookupError) as error:
            # Before all: h2 keeps its own kinds of errors for what it foresaw.
            raise self._call.status or GrpcStatus(
                INTERNAL, f"not HTTP/2: {fit(str(error), 200)}"
            ) from None
        self._flush()

    def _flush(self) -> None:
        try:
            if out := self._http.data_to_send():
                self._socket.sendall(out)
        except ConnectionError:
            pass  # what the server sent before it left can still be read, and then how it ended
        except OSError as error:
            raise self._broken(error.strerror or str(error)) from None

    def _broken(self, reason: str) -> GrpcStatus:
        if self._closed:
            return GrpcStatus(CANCELLED, "closed here")
        return self._call.status or self._call.gone() or GrpcStatus(UNAVAILABLE, reason)


def _connect(server: Address, seconds: float) -> socket.socket:
    try:
        plain = socket.create_connection((server.host, server.port), timeout=seconds)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not server.tls:
            return plain
        return tls_context().wrap_socket(plain, server_hostname=server.host)
    except OSError as error:
        raise GrpcStatus(UNAVAILABLE, error.strerror or str(error)) from None
