"""One gRPC stream over HTTP/2, read many messages at a time.

grpcio's Python side spends 55 µs on each message that it receives, which at a validator's rate is
most of a core; a full HTTP/2 frame holds twenty messages and costs as much as one
(docs/benchmarks.md).
"""

import contextlib
import math
import re
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Self
from urllib.parse import unquote, urlsplit

from h2.config import H2Configuration
from h2.connection import (
    ConnectionInputs,
    ConnectionState,
    H2Connection,
    H2ConnectionStateMachine,
)
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from upstream.foreign_text import fit

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

_NAMES = {
    value: name for name, value in list(globals().items()) if name.isupper() and name[0] != "_"
}
# A 502 from a proxy in front has no gRPC status; these are the ones that the protocol gives them.
_OF_HTTP = {400: INTERNAL, 401: UNAUTHENTICATED, 403: PERMISSION_DENIED, 404: UNIMPLEMENTED}

_WINDOW = 32 * 1_048_576
_ACKNOWLEDGED = 1_048_576
_LARGEST_FRAME = 1_048_576
_READ = 262_144
_PREFIX = 5
_TURN_SECONDS = 1.0
# An account has 10 MB at most, and a block's own message, with an epoch's rewards, less.
LARGEST_MESSAGE = 64 * 1_048_576
_LONGEST_TEXT = 500
_LARGEST_STATUS = 16


class GrpcStatus(Exception):
    """How a call ended: `code` is a gRPC status, `text` what the server said."""

    def __init__(self, code: int, text: str) -> None:
        name = _NAMES.get(code, str(code))
        super().__init__(f"{name}: {text}" if text else name)
        self.code = code
        self.text = text


class _DrainingStates(H2ConnectionStateMachine):
    """A server that goes away finishes the calls that it has: h2 takes its word for the end."""

    _transitions = {
        **H2ConnectionStateMachine._transitions,
        (ConnectionState.CLIENT_OPEN, ConnectionInputs.RECV_GOAWAY): (
            None,
            ConnectionState.CLIENT_OPEN,
        ),
    }


class _Connection(H2Connection):
    """h2's connection, which goes on after GOAWAY."""

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.state_machine = _DrainingStates()

    def clear_outbound_data_buffer(self) -> None:
        """Called at GOAWAY; what waits here are answers to pings."""


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
        self._socket = _connect(url, connect_seconds)
        # Bytes: what a server sends is not always text.
        self._http = _Connection(H2Configuration(client_side=True, header_encoding=None))
        self._http.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW,
                SettingCodes.MAX_FRAME_SIZE: _LARGEST_FRAME,
                SettingCodes.ENABLE_PUSH: 0,
            },
        )
        # Settings that are there from the start change nothing by being acknowledged.
        self._http.max_inbound_frame_size = _LARGEST_FRAME
        self._http.initiate_connection()
        self._http.increment_flow_control_window(_WINDOW)
        self._stream = self._http.get_next_available_stream_id()
        parts = urlsplit(url)
        headers = [
            (":method", "POST"),
            (":scheme", parts.scheme),
            (":path", parts.path.rstrip("/") + path),
            (":authority", parts.netloc.rpartition("@")[2]),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            ("user-agent", "tidemark"),
            *(metadata or {}).items(),
        ]
        self._http.send_headers(self._stream, headers)
        self._buffer = bytearray()
        self._outgoing = bytearray()
        self._is_last = False
        self._unacknowledged = 0
        self._status: GrpcStatus | None = None
        # Why the server goes away, once it has said so; its calls go on until it ends them.
        self._leaving: str | None = None
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
        self._outgoing += b"\0" + len(message).to_bytes(4, "big") + message
        self._is_last = last
        self._push()
        self._flush()

    def __iter__(self) -> Iterator[bytes]:
        heard_at = pinged_at = time.monotonic()
        while True:
            yield from self._messages()
            if self._status is not None:
                raise self._status
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
                self._take(event)
            if self._unacknowledged >= _ACKNOWLEDGED and self._status is None:
                self._http.acknowledge_received_data(self._unacknowledged, self._stream)
                self._unacknowledged = 0
            self._push()
        except (H2Error, ValueError, LookupError) as error:
            # Before all: h2 keeps its own kinds of errors for what it foresaw.
            raise self._status or GrpcStatus(
                INTERNAL, f"not HTTP/2: {fit(str(error), 200)}"
            ) from None
        self._flush()

    def _take(self, event: Event) -> None:
        if isinstance(event, DataReceived):
            self._buffer += event.data
            self._unacknowledged += event.flow_controlled_length
        elif isinstance(event, (ResponseReceived, TrailersReceived)):
            self._read_headers({bytes(name): bytes(value) for name, value in event.headers})
        elif isinstance(event, StreamReset):
            reason = f"the server reset the call ({int(event.error_code)})"
            self._end(self._gone() or GrpcStatus(UNAVAILABLE, reason))
        elif isinstance(event, StreamEnded):
            self._end(self._gone() or GrpcStatus(UNKNOWN, "the call ended without a status"))
        elif isinstance(event, ConnectionTerminated):
            self._leaving = fit((event.additional_data or b"").decode("utf-8", "replace"), 100)
            last = event.last_stream_id or 0
            if event.error_code != ErrorCodes.NO_ERROR or last < self._stream:
                self._end(self._gone())

    def _read_headers(self, headers: Mapping[bytes, bytes]) -> None:
        http = _number(headers.get(b":status", b"200"))
        if (code_text := headers.get(b"grpc-status")) is not None:
            code = _number(code_text)
            text = unquote(headers.get(b"grpc-message", b"").decode("utf-8", "replace"))
            if code is None or code > _LARGEST_STATUS:
                code = UNKNOWN
            self._end(GrpcStatus(code, fit(text, _LONGEST_TEXT)))
        elif http != 200:
            code = _OF_HTTP.get(http or 0, UNAVAILABLE)
            self._end(GrpcStatus(code, f"HTTP {http}"))
        elif headers.get(b"grpc-encoding", b"identity") != b"identity":
            self._end(GrpcStatus(INTERNAL, "the server compresses, which was not requested"))

    def _gone(self) -> GrpcStatus | None:
        """How a call ends whose server goes away and gives it no status."""
        if self._leaving is None:
            return None
        return GrpcStatus(UNAVAILABLE, f"the server goes away {self._leaving}".rstrip())

    def _end(self, status: GrpcStatus | None) -> None:
        """The first word counts: a reset after the trailers adds nothing."""
        if self._status is None:
            self._status = status

    def _messages(self) -> Iterator[bytes]:
        """The whole messages of what was received; the beginning of the next one stays."""
        buffer, at = self._buffer, 0
        end = len(buffer)
        with memoryview(buffer) as view:
            while end - at >= _PREFIX:
                size = int.from_bytes(view[at + 1 : at + _PREFIX], "big")
                if size > LARGEST_MESSAGE:
                    raise GrpcStatus(
                        INTERNAL, f"a message of {size} bytes, and {LARGEST_MESSAGE} are the most"
                    )
                if end - at - _PREFIX < size:
                    break
                if view[at]:
                    raise GrpcStatus(INTERNAL, "a compressed message, which was not requested")
                begin, at = at + _PREFIX, at + _PREFIX + size
                yield bytes(view[begin:at])
        if at:
            del buffer[:at]

    def _push(self) -> None:
        """Hands on as much of what waits to be sent as the server's window takes."""
        while self._outgoing and self._status is None:
            size = min(
                self._http.local_flow_control_window(self._stream),
                self._http.max_outbound_frame_size,
                len(self._outgoing),
            )
            if size <= 0:
                return
            ends = self._is_last and size == len(self._outgoing)
            self._http.send_data(self._stream, bytes(self._outgoing[:size]), end_stream=ends)
            del self._outgoing[:size]

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
        return self._status or self._gone() or GrpcStatus(UNAVAILABLE, reason)


def _number(text: bytes) -> int | None:
    """Of three digits at most; None for anything else."""
    return int(text) if re.fullmatch(rb"[0-9]{1,3}", text) else None


def _connect(url: str, seconds: float) -> socket.socket:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    address = (parts.hostname or "", parts.port or (443 if secure else 80))
    try:
        plain = socket.create_connection(address, timeout=seconds)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not secure:
            return plain
        context = ssl.create_default_context()
        context.set_alpn_protocols(["h2"])
        return context.wrap_socket(plain, server_hostname=parts.hostname)
    except OSError as error:
        raise GrpcStatus(UNAVAILABLE, error.strerror or str(error)) from None
