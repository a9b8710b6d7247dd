"""One client's connection: HTTP/1.1 requests in, responses out, under deadlines."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from webserver.paced_input import PacedInput
from webserver.reading import Reader
from webserver.requests import Request
from webserver.responses import Refused, Response, clock, head_of, write
from webserver.streams import Stream
from webserver.upgrades import Channel, Handler, Upgrade, switching_head

if TYPE_CHECKING:
    from webserver.worker import Worker

log = logging.getLogger(__name__)

_NEVER = float("inf")
# A client that was refused while it still sends is read for so long, or it would see a reset
# connection in place of its refusal.
_LINGER_SECONDS = 3.0
# Requests that may have been read ahead of the one that is being answered.
_MOST_AHEAD = 16
# Bytes that are read at once of a new connection: usual requests are whole with them.
_FIRST_SLICE = 4_096
# The loop's lateness is measured so often, until so many ticks pass without a request: a process at
# rest is not woken for it.
_TICK_SECONDS = 0.02
_QUIET_TICKS = 25

_monotonic = time.monotonic


class Connection(Reader):
    """Answers requests, in the order in which they came."""

    __slots__ = (
        "_ahead_bytes",
        "_goes_on",
        "_handler",
        "_is_closing",
        "_lingers",
        "_stream",
        "_unsent",
        "is_paused",
    )

    def __init__(self, worker: "Worker", peer: tuple[str, int]) -> None:
        super().__init__(worker, peer)
        self._ahead_bytes = 0
        self._stream: Stream | None = None
        self._goes_on = False  # behind the stream
        self._handler: Handler | None = None  # of another protocol than HTTP
        # What to call once the client has taken all that was written.
        self._unsent: list[Callable[[], None]] = []
        self.is_paused = False
        self._is_closing = False
        self._lingers = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._input = PacedInput(
            self.transport,
            self._worker.charges.share_of(self.peer[0]),
            read=self._read,
            is_over=lambda: self.is_lost,
            then=self._answer_what_came,
            size=_FIRST_SLICE,
        )
        self._worker.admission.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_lost = True
        self._worker.admission.remove(self)
        self._call_sent()
        self._ahead.clear()
        self._pieces, self._reading = [], None  # with the room that a large body has
        self._input.stop()
        if self._stream is not None:
            self._stream.end()
        if self._handler is not None:
            self._handler.connection_lost()

    def data_received(self, data: bytes) -> None:
        if self._handler is None:
            super().data_received(data)
        else:
            self._handler.data_received(data)

    def eof_received(self) -> bool:
        # A client that has sent all it wants to may still read what it is answered.
        if self._handler is not None or (self._current is None and not self._ahead):
            return False
        if self._stream is not None and not self._goes_on:
            return False
        self._is_closing = True
        return True

    def bound_buffer(self, size: int) -> None:
        """The system would take megabytes for a client that does not read."""
        found = self.transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)

    def pause_writing(self) -> None:
        self.is_paused = True
        self._worker.admission.is_blocked(self)

    def resume_writing(self) -> None:
        self.is_paused = False
        self._call_sent()
        self._worker.admission.is_read(self)
        if self._handler is not None:
            self._handler.resume_writing()
            return
        if self._stream is not None:
            self._stream.wake()
        if self._current is None and not self._lingers:
            self._begin_next()

    def _look_whether_sent(self, sent: Callable[[], None]) -> None:
        if self.is_lost or not self.transport.get_write_buffer_size():
            sent()
        elif self.is_paused:
            self._unsent.append(sent)
        else:
            self._worker.unsent.on_drained(self, sent)

    def _call_sent(self) -> None:
        unsent, self._unsent = self._unsent, []
        for sent in unsent:
            sent()

    def _put(self, item: Request | Refused) -> None:
        if self.is_lost:
            return
        self._ahead.append(item)
        if isinstance(item, Request):
            item.came_at = self._worker.turns.came_at()
            self._ahead_bytes += len(item.body)
        # A request that is read with others is answered when that is paid for.
        waits = self._is_reading and (len(self._ahead) > 1 or isinstance(item, Request))
        if not waits and self._current is None and not self.is_paused:
            self._begin_next()
            return
        is_much = self._ahead_bytes > self._worker.limits.body
        if is_much or len(self._ahead) >= _MOST_AHEAD or self.is_paused:
            self._input.hold()

    def _answer_what_came(self) -> None:
        """Behind each slice of what the client sends."""
        if self._ahead and self._current is None:
            self._begin_next()

    def _received(self, size: int) -> None:
        self._worker.admission.receives(self, size)

    def _is_busy(self) -> None:
        self._worker.admission.is_busy(self)

    def _begin_next(self) -> None:
        is_held = self.is_paused or self._current is not None
        if self.is_lost or is_held or self.transport.is_closing():
            return
        if not self._ahead:
            if self._is_closing:
                self.transport.close()
                return
            self._wait_for_more()
            if not self._is_asking:
                self._input.release()
            return
        item = self._ahead.popleft()
        if isinstance(item, Refused):
            self._send_refusal(item)
            return
        self._ahead_bytes -= len(item.body)
        self._current = item
        self.deadline = _NEVER
        self._worker.run(self, item)

    def _wait_for_more(self) -> None:
        limits, now = self._worker.limits, _monotonic()
        if self._reading is None:
            self.deadline = now + limits.idle_seconds
            self._worker.admission.is_idle(self)
        elif self.phase is Refused.HEAD_TIMEOUT:
            self.deadline = now + limits.head_seconds
        else:
            self.deadline = now + limits.seconds_for(self._most)
            if self._owes_continue and not self._is_asking:
                self._continue()

    def _send_refusal(self, why: Refused) -> None:
        request = self._reading
        status, headers, body = self._worker.refuse(why, request)
        response = Response(status, headers, [body])
        write(self.transport, response, request, keeps=False)
        self._linger()

    def _linger(self) -> None:
        self._lingers = True
        self.deadline = _monotonic() + _LINGER_SECONDS
        self._worker.admission.is_idle(self)
        self._input.release()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def respond(self, request: Request, response: Response) -> None:
        """Sends the response to the current request, once it is made where that is done later."""
        if response.later is not None:
            task = asyncio.get_running_loop().create_task(self._respond_later(request, response))
            self._worker.streams.add(task)
            task.add_done_callback(self._worker.streams.discard)
            return
        if self.is_lost:
            if response.sent is not None:
                response.sent()
            return
        worker = self._worker
        if response.upgrade is not None and request is self._upgrading:
            self._take_over(request, response, response.upgrade)
            return
        # Who has sent all it wants to has its answers coming still.
        goes_on = self._ahead or not self._is_closing
        keeps = bool(request.keeps and goes_on and not worker.is_stopping)
        if response.proceed is not None:
            self._begin_stream(request, response, keeps=keeps)
            return
        write(self.transport, response, request, keeps=keeps)
        if response.sent is not None:
            # Large answers not at the next sweep: a client that takes them fast would be refused
            # for the many that it has taken meanwhile.
            if self.is_paused:
                self._unsent.append(response.sent)
            else:  # the loop writes at the end of its turn
                asyncio.get_running_loop().call_soon(self._look_whether_sent, response.sent)
        self._end_response(keeps)

    async def _respond_later(self, request: Request, response: Response) -> None:
        assert response.later is not None
        try:
            made = await response.later()
        except Exception:
            log.exception("the application failed")
            status, headers, body = self._worker.refuse(Refused.FAILED, request)
            made = Response(status, headers, [body])
        try:
            self.respond(request, made)
        except Exception:
            log.exception("a response could not be sent")
            self.abort()

    def refuse_current(self, request: Request, why: Refused) -> None:
        """Refuses a whole request for which there is no thread, and keeps the connection."""
        status, headers, body = self._worker.refuse(why, request)
        self.respond(request, Response(status, headers, [body]))

    def _take_over(self, request: Request, response: Response, upgrade: Upgrade) -> None:
        """From now on the connection is the handler's."""
        self.transport.write(switching_head(request, list(response.headers), clock.date()))
        self.deadline = _NEVER
        self._handler = upgrade(Channel(self))
        behind = self._input.stop()
        self._forget_http()
        if not self.is_lost:
            self.transport.resume_reading()
        if behind:
            self._handler.data_received(behind)

    def _end_response(self, keeps: bool) -> None:
        if self._upgrading is not None and self._upgrading is self._current:
            # It stays with HTTP, and what came behind the request is the next one.
            self._upgrading = None
        self._current = None
        if not keeps:
            self._is_closing = True
            self.deadline = _NEVER  # until all is written: the worker watches that
            self.transport.close()
            return
        if self.is_paused:
            self.deadline = _NEVER
        elif self._ahead:  # other connections have their turn between two of this one
            asyncio.get_running_loop().call_soon(self._begin_next)
        else:
            self._begin_next()

    def _begin_stream(self, request: Request, response: Response, *, keeps: bool) -> None:
        chunked = request.version != "1.0"
        response.is_streamed = True
        self._goes_on = keeps and chunked and response.goes_on
        head = head_of(response, request, keeps=self._goes_on, chunked=chunked)
        self.transport.write(head)
        self._ignores = not self._goes_on
        self._stream = Stream(self, response.proceed, response.sent, chunked=chunked)
        self._stream.begin(self._worker)

    def finish_stream(self, *, is_whole: bool) -> None:
        """What the stream wrote is sent, then the connection ends, or goes on to the next
        request.
        """
        if self._goes_on and is_whole and not self.is_lost:
            self._stream = None
            self._end_response(keeps=not self._worker.is_stopping)
            return
        self._is_closing = True
        if not self.is_lost:
            self.transport.close()

    def _forget_http(self) -> None:
        """What reading requests needs: a thousand idle connections hold megabytes of it."""
        self._upgrading, self._current, self._reading = None, None, None
        self._pieces, self._completed = [], None
        del self._parser, self._repeats
        self._ahead.clear()

    @property
    def is_waiting(self) -> bool:
        """Nothing of a request has come, and none is being answered."""
        return self._current is None and self._reading is None and not self._ahead

    @property
    def is_idle(self) -> bool:
        """It waits for its next request, or its first."""
        return self._handler is None and self.is_waiting and not self.is_lost

    def expire(self) -> None:
        """The deadline has passed."""
        if self._lingers or self._reading is None or self._error is not None:
            self.abort()
            return
        self._refuse(self.phase)

    def stop(self) -> None:
        """The process stops: what is being answered is answered, and nothing more."""
        if self._handler is not None:
            self._handler.stop()
            return
        self._is_closing = True
        if self.is_waiting and not self.is_paused:
            self.transport.close()

    def abort(self) -> None:
        self._worker.admission.remove(self)
        self.is_lost = True
        self.transport.abort()


class Turns:
    """How late the event loop is: what it reads had waited while it was busy, or had no core. It is
    measured by a timer, from the first request of a busy time to its end.
    """

    def __init__(self) -> None:
        self._due = 0.0  # of the next tick; 0: nothing is measured
        self._late = 0.0  # how late the last one was, in seconds
        self._quiet = 0

    def came_at(self) -> float:
        """The earliest time (monotonic) at which a request can have come that is read now."""
        now = _monotonic()
        self._quiet = 0
        if not self._due:
            self._measure(now)
        return now - max(self._late, now - self._due, 0.0)

    def _measure(self, now: float) -> None:
        self._due = now + _TICK_SECONDS
        asyncio.get_running_loop().call_later(_TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        now = _monotonic()
        self._late = now - self._due
        self._quiet += 1
        if self._quiet > _QUIET_TICKS:
            self._due = self._late = 0.0
        else:
            self._measure(now)
