"""gRPC's server side over HTTP/2, by h2: many messages go into one frame.

grpcio has no zstd, and spends 32 µs on each message that it sends (docs/decisions/grpc.md).
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from upstream.geyser.transport import CANCELLED, INTERNAL, OK, UNIMPLEMENTED, GrpcStatus
from yellowstone.call import Call
from yellowstone.encoding import Framing

log = logging.getLogger(__name__)

_MOST_CALLS = 100
_WINDOW = 1_048_576
_BUFFER_BYTES = 262_144
# Frames for one call before others have their turn.
_AT_ONCE = 1_048_576
# A client that was silent for so long is asked whether it is there, and is gone after so long.
_PING_SECONDS = 20.0
_GONE_SECONDS = 60.0
# Calls a second, and at once: a client that opens more is disconnected.
_CALLS_PER_SECOND = 200.0
_CALLS_AT_ONCE = 2_000.0

Handler = Callable[[Call], Awaitable[None]]


class Http2(asyncio.Protocol):
    """One client's connection; `handler` answers each of its calls."""

    def __init__(self, handler: Handler, connections: set["Http2"], most_of_peer: int) -> None:
        self.peer = ""
        self._handler = handler
        self._connections = connections
        self._most_of_peer = most_of_peer
        config = H2Configuration(client_side=False, header_encoding=None)
        self._http = H2Connection(config)
        self._http.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: _MOST_CALLS,
                SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW,
                SettingCodes.MAX_HEADER_LIST_SIZE: 16_384,
            },
        )
        self._transport: Any = None
        self._calls: dict[int, Call] = {}
        # Calls whose requests wait, with the bytes that are not acknowledged yet.
        self._held: dict[int, int] = {}
        self._is_paused = False
        self._is_pushing = False
        self._heard_at = self._paid_at = self._asked_at = time.monotonic()
        self._allowance = _CALLS_AT_ONCE

    # --- from the loop ----------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        name = transport.get_extra_info("peername")
        self.peer = name[0] if isinstance(name, tuple) else ""
        if sum(each.peer == self.peer for each in self._connections) >= self._most_of_peer:
            transport.abort()
            return
        self._connections.add(self)
        transport.set_write_buffer_limits(high=_BUFFER_BYTES)
        self._http.initiate_connection()
        self._http.increment_flow_control_window(_WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        try:
            for event in self._http.receive_data(data):
                self._take(event)
        except (H2Error, ValueError, LookupError) as error:
            log.debug("a client does not speak HTTP/2: %s", error)
            self._close()
            return
        self._push_all()

    def pause_writing(self) -> None:
        # What a client makes us say while it does not read is bounded too.
        self._is_paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_paused = False
        self._transport.resume_reading()
        self._push_all()

    def connection_lost(self, _error: Exception | None) -> None:
        self._connections.discard(self)
        self._lose_calls()

    def tick(self) -> None:
        """Every few seconds: asks a silent client whether it is there."""
        now = time.monotonic()
        silent = now - self._heard_at
        if silent > _GONE_SECONDS:
            self._transport.abort()
        elif silent > _PING_SECONDS and now - self._asked_at > _PING_SECONDS / 2:
            self._asked_at = now
            with self._no_others_fault():
                self._http.ping(b"tidemark")
                self._flush()

    def go_away(self) -> None:
        """No call is taken any more."""
        if not self._transport.is_closing():
            with self._no_others_fault():
                self._http.close_connection()
            self._close()

    # --- for calls --------------------------------------------------------------------------------

    def send_headers(self, call: Call, headers: list[tuple[str, str]], *, is_last: bool) -> None:
        if call.number in self._calls:
            with self._no_others_fault():
                self._http.send_headers(call.number, headers, end_stream=is_last)
                self._flush()

    def push(self, call: Call) -> None:
        if call.number in self._calls and not self._is_paused:
            with self._no_others_fault():
                self._push(call)
                self._flush()

    def took_request(self, call: Call) -> None:
        """The client may send more, where it waited for that."""
        if call.number in self._held and call.takes_more:
            held = self._held.pop(call.number)
            with self._no_others_fault():
                self._http.acknowledge_received_data(held, call.number)
                self._flush()

    @contextmanager
    def _no_others_fault(self) -> Iterator[None]:
        """What a connection cannot be sent any more ends it, and disturbs no other."""
        try:
            yield
        except H2Error as error:
            log.debug("a connection cannot be written to: %s", error)
            self._close()

    # --- HTTP/2 -----------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived():
                self._begin(event)
            case DataReceived():
                self._data(event)
            case StreamEnded():
                call = self._calls.get(event.stream_id or 0)
                if call is not None:
                    call.half_closed()
            case StreamReset():
                call = self._calls.pop(event.stream_id or 0, None)
                if call is not None:
                    call.lost()
            case ConnectionTerminated():
                self._close()
            case _:
                pass  # of windows and settings: more is pushed in any case

    def _begin(self, event: RequestReceived) -> None:
        number = event.stream_id
        assert number is not None
        now = time.monotonic()
        earned = (now - self._paid_at) * _CALLS_PER_SECOND
        self._allowance = min(_CALLS_AT_ONCE, self._allowance + earned) - 1
        self._paid_at = now
        if self._allowance < 0:
            self._http.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            self._close()
            return
        headers = {
            bytes(name).decode("latin-1"): bytes(value).decode("latin-1")
            for name, value in event.headers
        }
        call = self._calls[number] = Call(self, number, headers)
        is_grpc = headers.get("content-type", "").startswith("application/grpc")
        if headers.get(":method") != "POST" or not is_grpc:
            self._http.send_headers(number, [(":status", "415")], end_stream=True)
            self._calls.pop(number)
            return
        try:
            call.framing = Framing(
                headers.get("grpc-encoding", "identity"), headers.get("grpc-accept-encoding", "")
            )
        except GrpcStatus as status:
            call.end(status)
            return
        call.task = asyncio.get_running_loop().create_task(self._answer(call))

    async def _answer(self, call: Call) -> None:
        try:
            await self._handler(call)
            call.end(GrpcStatus(OK, ""))
        except GrpcStatus as status:
            call.end(status, drops=status.code != OK)
        except asyncio.CancelledError:
            call.end(GrpcStatus(CANCELLED, "cancelled"), drops=True)
            raise
        except Exception:
            log.exception("a call of %s failed", call.path)
            call.end(GrpcStatus(INTERNAL, "internal_error: the call failed"), drops=True)

    def _data(self, event: DataReceived) -> None:
        number, size = event.stream_id or 0, event.flow_controlled_length or 0
        call = self._calls.get(number)
        takes = True if call is None or call.is_ended else call.received(event.data or b"")
        if takes:
            size += self._held.pop(number, 0)
            self._http.acknowledge_received_data(size, number)
        else:
            self._held[number] = self._held.get(number, 0) + size

    def _push_all(self) -> None:
        with self._no_others_fault():
            for call in list(self._calls.values()):
                if self._is_paused:
                    break
                self._push(call)
            self._flush()

    def _push(self, call: Call) -> None:
        """Hands on as much as the client's windows and the system take."""
        http, number = self._http, call.number
        sent = 0
        while call.waiting_bytes and sent < _AT_ONCE and not self._is_paused:
            most = min(http.local_flow_control_window(number), http.max_outbound_frame_size)
            if most <= 0:
                return
            data = call.taken(most)
            http.send_data(number, data)
            sent += len(data)
            if len(data) == most:
                self._flush()
        self._flush()
        if call.waiting_bytes:
            if not self._is_paused:
                asyncio.get_running_loop().call_soon(self.push, call)
            return
        last = call.last_headers()
        if last is None:
            return
        headers, _is_all = last
        http.send_headers(number, headers, end_stream=True)
        if not call.is_half_closed:
            # It need not send the rest.
            http.reset_stream(number, ErrorCodes.NO_ERROR)
        self._calls.pop(number, None)
        self._held.pop(number, None)

    def _flush(self) -> None:
        out = self._http.data_to_send()
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(out)

    def _close(self) -> None:
        self._flush()
        self._transport.close()
        self._lose_calls()

    def _lose_calls(self) -> None:
        calls, self._calls = self._calls, {}
        self._held.clear()
        for call in calls.values():
            call.lost()


def unknown(path: str) -> GrpcStatus:
    return GrpcStatus(UNIMPLEMENTED, f"{path[:100]} is not served")
