"""A client's calls on one connection of HTTP/2, without moving its bytes."""

import re
import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from h2.config import H2Configuration
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
from h2.settings import SettingCodes, Settings

from upstream.foreign_text import fit
from upstream.grpc.draining import DrainingConnection
from upstream.grpc.status import (
    INTERNAL,
    PERMISSION_DENIED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    UNKNOWN,
    GrpcStatus,
)
from upstream.http.requests import Address

# A 502 from a proxy in front has no gRPC status; these are the ones that the protocol gives them.
_OF_HTTP = {400: INTERNAL, 401: UNAUTHENTICATED, 403: PERMISSION_DENIED, 404: UNIMPLEMENTED}

_WINDOW = 32 * 1_048_576
_ACKNOWLEDGED = 1_048_576
_LARGEST_FRAME = 1_048_576
_PREFIX = 5
_LONGEST_TEXT = 500
_LARGEST_STATUS = 16


class Http2(DrainingConnection):
    """h2's connection as a client's."""

    def __init__(self) -> None:
        # Bytes: what a server sends is not always text.
        super().__init__(H2Configuration(client_side=True, header_encoding=None))
        self.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW,
                SettingCodes.MAX_FRAME_SIZE: _LARGEST_FRAME,
                SettingCodes.ENABLE_PUSH: 0,
            },
        )
        # Settings that are there from the start change nothing by being acknowledged.
        self.max_inbound_frame_size = _LARGEST_FRAME
        self.initiate_connection()
        self.increment_flow_control_window(_WINDOW)


class ClientCall:
    """A call to `path` of the server, on a connection: what is sent, what came, and how it ended.
    Each message has `largest` bytes at most.
    """

    def __init__(
        self, http: Http2, server: Address, path: str, metadata: Mapping[str, str], *, largest: int
    ) -> None:
        self.status: GrpcStatus | None = None
        # The server says that it has done nothing for it.
        self.was_not_taken = False
        self._http = http
        self._largest = largest
        self._buffer = bytearray()
        self._outgoing = bytearray()
        self._is_last = False
        self._unacknowledged = 0
        # Why the server goes away, once it has said so; its calls go on until it ends them.
        self._leaving: str | None = None
        self.number = http.get_next_available_stream_id()
        headers = [
            (":method", "POST"),
            (":scheme", "https" if server.tls else "http"),
            (":path", server.path.rstrip("/") + path),
            (":authority", server.authority),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            ("user-agent", "tidemark"),
            *metadata.items(),
        ]
        http.send_headers(self.number, headers)

    def send(self, message: bytes, *, last: bool) -> None:
        """What the server's window does not take now goes out by `push`."""
        self._outgoing += b"\0" + len(message).to_bytes(4, "big") + message
        self._is_last = last
        self.push()

    def push(self) -> None:
        """Hands on as much of what waits to be sent as the server's window takes."""
        while self._outgoing and self.status is None:
            size = min(
                self._http.local_flow_control_window(self.number),
                self._http.max_outbound_frame_size,
                len(self._outgoing),
            )
            if size <= 0:
                return
            ends = self._is_last and size == len(self._outgoing)
            self._http.send_data(self.number, bytes(self._outgoing[:size]), end_stream=ends)
            del self._outgoing[:size]

    def take(self, event: Event) -> None:
        """Of this call, or of the connection as a whole."""
        if isinstance(event, DataReceived):
            self._buffer += event.data or b""
            self._unacknowledged += event.flow_controlled_length or 0
        elif isinstance(event, (ResponseReceived, TrailersReceived)):
            self._read_headers({bytes(name): bytes(value) for name, value in event.headers or ()})
        elif isinstance(event, StreamReset):
            self.was_not_taken |= event.error_code == ErrorCodes.REFUSED_STREAM
            reason = f"the server reset the call ({int(event.error_code or 0)})"
            self.end(self.gone() or GrpcStatus(UNAVAILABLE, reason))
        elif isinstance(event, StreamEnded):
            self.end(self.gone() or GrpcStatus(UNKNOWN, "the call ended without a status"))
        elif isinstance(event, ConnectionTerminated):
            self._leaving = fit((event.additional_data or b"").decode("utf-8", "replace"), 100)
            self.was_not_taken |= (event.last_stream_id or 0) < self.number
            if event.error_code != ErrorCodes.NO_ERROR or self.was_not_taken:
                self.end(self.gone())

    def acknowledge(self) -> None:
        """Lets the server send on, once much has come."""
        if self._unacknowledged >= _ACKNOWLEDGED and self.status is None:
            self._http.acknowledge_received_data(self._unacknowledged, self.number)
            self._unacknowledged = 0

    def messages(self) -> Iterator[bytes]:
        """The whole messages of what has come; the beginning of the next one stays. Raises
        GrpcStatus.
        """
        found, fault = self._taken()
        yield from found
        if fault is not None:
            raise fault

    def _taken(self) -> tuple[list[bytes], GrpcStatus | None]:
        buffer, at = self._buffer, 0
        end = len(buffer)
        found: list[bytes] = []
        fault = None
        with memoryview(buffer) as view:
            while end - at >= _PREFIX:
                size = int.from_bytes(view[at + 1 : at + _PREFIX], "big")
                if size > self._largest:
                    text = f"a message of {size} bytes, and {self._largest} are the most"
                    fault = GrpcStatus(INTERNAL, text)
                    break
                if end - at - _PREFIX < size:
                    break
                if view[at]:
                    fault = GrpcStatus(INTERNAL, "a compressed message, which was not requested")
                    break
                begin, at = at + _PREFIX, at + _PREFIX + size
                found.append(bytes(view[begin:at]))
        del buffer[:at]
        return found, fault

    def gone(self) -> GrpcStatus | None:
        """How a call ends whose server goes away and gives it no status."""
        if self._leaving is None:
            return None
        return GrpcStatus(UNAVAILABLE, f"the server goes away {self._leaving}".rstrip())

    def end(self, status: GrpcStatus | None) -> None:
        """The first word counts: a reset after the trailers adds nothing."""
        if self.status is None:
            self.status = status

    def _read_headers(self, headers: Mapping[bytes, bytes]) -> None:
        http = _number(headers.get(b":status", b"200"))
        if (code_text := headers.get(b"grpc-status")) is not None:
            code = _number(code_text)
            text = unquote(headers.get(b"grpc-message", b"").decode("utf-8", "replace"))
            if code is None or code > _LARGEST_STATUS:
                code = UNKNOWN
            self.end(GrpcStatus(code, fit(text, _LONGEST_TEXT)))
        elif http != 200:
            code = _OF_HTTP.get(http or 0, UNAVAILABLE)
            self.end(GrpcStatus(code, f"HTTP {http}"))
        elif headers.get(b"grpc-encoding", b"identity") != b"identity":
            self.end(GrpcStatus(INTERNAL, "the server compresses, which was not requested"))


def tls_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    return context


def _number(text: bytes) -> int | None:
    """Of three digits at most; None for anything else."""
    return int(text) if re.fullmatch(rb"[0-9]{1,3}", text) else None
