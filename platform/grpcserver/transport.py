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
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from grpcserver.bounds import MOST_UNFINISHED_OF_CONNECTION, Bounds
from grpcserver.call import Call, joined_headers
from grpcserver.encoding import Framing
from upstream.grpc.draining import DrainingConnection
from upstream.grpc.status import CANCELLED, INTERNAL, OK, RESOURCE_EXHAUSTED, GrpcStatus
from webserver.paced_input import FIRST_FRAMES, PacedInput, Share

log = logging.getLogger(__name__)

_MOST_CALLS = 100
_WINDOW = 1_048_576
_BUFFER_BYTES = 262_144
# Frames for one call before others have their turn.
_AT_ONCE = 1_048_576
# A client that was silent for so long is asked whether it is there, and is gone after so long.
_PING_SECONDS = 20.0
_GONE_SECONDS = 60.0
# A call that was answered before its client had half-closed is reset after so long.
_HALF_CLOSE_SECONDS = 5.0
# Time of the loop that a call takes from its address's share beside its frames.
CALL_SECONDS = 0.000_5
# The reason that a connection above the limit gets.
_TOO_MANY = b"too_many_connections"

Handler = Callable[[Call], Awaitable[None]]


class _Connection(DrainingConnection):
    """h2 ends a connection with more calls than it may have; here only the call is refused."""

    @property
    def open_inbound_streams(self) -> int:
        # Counting is what makes h2 forget closed streams.
        return 0 * super().open_inbound_streams


class Http2(asyncio.Protocol):
    """One client's connection; `handler` answers each of its calls."""

    def __init__(self, handler: Handler, bounds: Bounds) -> None:
        self.peer = ""
        self._handler = handler
        self._bounds = bounds
        config = H2Configuration(client_side=False, header_encoding=None)
        self._http = _Connection(config)
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
        # Calls that were answered, whose clients have not half-closed: oldest first.
        self._answered: dict[int, asyncio.TimerHandle] = {}
        # Bytes of requests that are not whole.
        self._unfinished = 0
        self._input: PacedInput | None = None
        self._is_paused = False
        self.heard_at = self._asked_at = time.monotonic()
        self._begun: Share | None = None
        self.has_called = False

    # --- from the loop ----------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        name = transport.get_extra_info("peername")
        self.peer = name[0] if isinstance(name, tuple) else ""
        self._http.initiate_connection()
        if not self._bounds.enter(self):
            self._http.close_connection(ErrorCodes.ENHANCE_YOUR_CALM, _TOO_MANY)
            self._close()
            return
        self._begun = self._bounds.calls(self.peer, self.heard_at)
        self._input = PacedInput(
            transport,
            self._bounds.share(self.peer, self.heard_at),
            read=self._read,
            is_over=transport.is_closing,
            size=FIRST_FRAMES,
        )
        transport.set_write_buffer_limits(high=_BUFFER_BYTES)
        self._http.increment_flow_control_window(_WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        self.heard_at = time.monotonic()
        if self._input is not None:
            self._input.received(data)

    def _read(self, data: bytes) -> None:
        """Reads a slice of what came."""
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
        if self._input is not None:
            self._input.hold()

    def resume_writing(self) -> None:
        self._is_paused = False
        if self._input is not None:
            self._input.release()
        self._push_all()

    def connection_lost(self, _error: Exception | None) -> None:
        if self._input is not None:
            self._input.stop()
        self._bounds.leave(self)
        self._lose_calls()

    def tick(self) -> None:
        """Every few seconds: asks a silent client whether it is there."""
        now = time.monotonic()
        silent = now - self.heard_at
        if silent > _GONE_SECONDS:
            self._transport.abort()
        elif silent > _PING_SECONDS and now - self._asked_at > _PING_SECONDS / 2:
            self._asked_at = now
            with self._no_others_fault():
                self._http.ping(b"tidemark")
                self._flush()

    @property
    def is_idle(self) -> bool:
        """Whether it has no call, and may be closed for another's sake."""
        return not self._calls and not self._transport.is_closing()

    def charge(self, seconds: float) -> None:
        """Charges the client for work outside of reading."""
        if self._input is not None:
            self._input.charge(seconds)

    def forgive_call(self) -> None:
        """A call of a good key was answered: the limits of the key count it."""
        self.charge(-CALL_SECONDS)
        if self._begun is not None:
            self._begun.charge(-1, time.monotonic())

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
                self._is_closed(event.stream_id or 0)
            case StreamReset():
                call = self._drop(event.stream_id or 0)
                if call is not None:
                    call.lost()
                self._is_closed(event.stream_id or 0)
            case _:
                # Of windows and settings: more is pushed in any case. A client that goes away
                # closes the connection itself, once its calls are done.
                pass

    def _begin(self, event: RequestReceived) -> None:
        number = event.stream_id
        assert number is not None
        assert self._begun is not None
        if self._begun.charge(1, time.monotonic()):
            self._http.close_connection(ErrorCodes.ENHANCE_YOUR_CALM, b"too_many_calls")
            self._close()
            return
        if len(self._calls) >= _MOST_CALLS:
            self._http.reset_stream(number, ErrorCodes.REFUSED_STREAM)
            return
        if len(self._calls) + len(self._answered) >= _MOST_CALLS:
            self._reset(next(iter(self._answered)))
        self.has_called = True
        self.charge(CALL_SECONDS)
        headers = joined_headers(event.headers)
        call = self._calls[number] = Call(self, number, headers)
        is_grpc = headers.get("content-type", "").startswith("application/grpc")
        if headers.get(":method") != "POST" or not is_grpc:
            self._http.send_headers(number, [(":status", "415")], end_stream=True)
            self._drop(number)
            self._wait_for_half_close(number)
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
        takes = True
        if call is not None and not call.is_ended:
            before = call.framing.unfinished
            takes = call.received(event.data or b"")
            self._grow(call, call.framing.unfinished - before)
        if takes:
            size += self._held.pop(number, 0)
            self._http.acknowledge_received_data(size, number)
        else:
            self._held[number] = self._held.get(number, 0) + size

    def _grow(self, call: Call, size: int) -> None:
        """So many bytes more of a request came that is not whole yet."""
        self._unfinished += size
        self._bounds.unfinished += size
        too_many = self._unfinished > MOST_UNFINISHED_OF_CONNECTION
        if size > 0 and (too_many or self._bounds.has_too_many_unfinished):
            text = "unfinished_requests: too many bytes of requests that are not whole yet"
            call.end(GrpcStatus(RESOURCE_EXHAUSTED, text), drops=True)
            self._forget_unfinished(call)

    def _forget_unfinished(self, call: Call) -> None:
        size = call.framing.forget()
        self._unfinished -= size
        self._bounds.unfinished -= size

    def _drop(self, number: int) -> Call | None:
        """The call is over."""
        self._held.pop(number, None)
        call = self._calls.pop(number, None)
        if call is not None:
            self._forget_unfinished(call)
        return call

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
        self._drop(number)
        if not call.is_half_closed:
            self._wait_for_half_close(number)

    def _wait_for_half_close(self, number: int) -> None:
        """Resets the stream later. At once, frames that are under way would meet a closed stream,
        and a proxy that shares the connection among its clients may end it for another's call.
        """
        loop = asyncio.get_running_loop()
        self._answered[number] = loop.call_later(_HALF_CLOSE_SECONDS, self._reset, number)

    def _reset(self, number: int) -> None:
        if self._is_closed(number) and not self._transport.is_closing():
            with self._no_others_fault():
                # The client need not send the rest (RFC 9113, section 8.1).
                self._http.reset_stream(number, ErrorCodes.NO_ERROR)
                self._flush()

    def _is_closed(self, number: int) -> bool:
        """No half-close is waited for any more; whether one was."""
        timer = self._answered.pop(number, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def _flush(self) -> None:
        out = self._http.data_to_send()
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(out)

    def _close(self) -> None:
        self._flush()
        self._transport.close()
        self._lose_calls()

    def _lose_calls(self) -> None:
        for number in list(self._answered):
            self._is_closed(number)
        for number in list(self._calls):
            call = self._drop(number)
            if call is not None:
                call.lost()
