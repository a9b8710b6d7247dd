"""One client's connection: HTTP/1.1 requests in, responses out, under deadlines."""

import asyncio
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, cast

import httptools

from webserver.heads import body_head, judge
from webserver.requests import Request
from webserver.responses import Refused, Response, head_of, write
from webserver.streams import Stream

if TYPE_CHECKING:
    from webserver.worker import Worker

log = logging.getLogger(__name__)

_NEVER = float("inf")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# A client that was refused while it still sends is read for so long, or it would see a reset
# connection in place of its refusal.
_LINGER_SECONDS = 3.0
_LINGER_BYTES = 1_048_576
# Requests that may have been read ahead of the one that is being answered.
_MOST_AHEAD = 16

_monotonic = time.monotonic


class Connection(asyncio.Protocol):
    """`peer` is the client's address and port, `deadline` when the connection is closed unless
    something happens before. All of it runs on the event loop.
    """

    __slots__ = (
        *("_ahead", "_ahead_bytes", "_current", "_discarded", "_error", "_head_bytes"),
        *("_is_asking", "_is_closing", "_is_last", "_lingers", "_most", "_owes_continue"),
        *("_parser", "_pieces", "_reading", "_resumed", "_resumes", "_size", "_stream", "_took"),
        *("_unfinished", "_worker", "deadline", "is_lost", "is_paused", "peer", "phase"),
        "transport",
    )

    def __init__(self, worker: "Worker", peer: tuple[str, int]) -> None:
        self._worker = worker
        self.peer = peer
        self.transport: asyncio.Transport = cast(asyncio.Transport, None)
        self.is_lost = False
        self.phase = Refused.HEAD_TIMEOUT  # why a request that is not whole by then is refused
        self.deadline = _monotonic() + worker.limits.first_seconds
        self._parser = httptools.HttpRequestParser(self)
        self._reading: Request | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._head_bytes = 0
        self._unfinished = 0
        self._error: Refused | None = None
        self._most, self._is_asking = 0, False
        self._resumed = b""
        self._resumes = False
        self._took = False
        self._owes_continue = False
        self._ahead: deque[Request | Refused] = deque()
        self._ahead_bytes = 0
        self._current: Request | None = None
        self._stream: Stream | None = None
        self.is_paused = False
        self._is_closing = False
        self._is_last = False
        self._lingers = False
        self._discarded = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._worker.admission.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_lost = True
        self._worker.admission.remove(self)
        self._ahead.clear()
        self._pieces, self._reading = [], None  # with the room that a large body has
        if self._stream is not None:
            self._stream.end()

    def eof_received(self) -> bool:
        # A client that has sent all it wants to may still read what it is answered.
        if self._stream is not None or (self._current is None and not self._ahead):
            return False
        self._is_closing = True
        return True

    def pause_writing(self) -> None:
        self.is_paused = True
        self._worker.admission.is_blocked(self)

    def resume_writing(self) -> None:
        self.is_paused = False
        self._worker.admission.is_read(self)
        if self._stream is not None:
            self._stream.wake()
        if self._current is None and not self._lingers:
            self._begin_next()

    def data_received(self, data: bytes) -> None:
        rest: bytes | memoryview = data
        while not self.is_lost:
            if self._error is not None or self._is_last or self._stream is not None:
                self._discarded += len(rest)
                if self._discarded > _LINGER_BYTES + self._worker.large_maximum:
                    self.abort()
                return
            self._took = False
            try:
                self._parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                # Nothing else is spoken here: what follows is HTTP/1.1 as well.
                self._parser = httptools.HttpRequestParser(self)
                rest = memoryview(rest)[upgrade.args[0] :]
                if self._resumed:
                    self._resume()
                if rest:
                    continue
            except httptools.HttpParserError as error:
                if isinstance(error, httptools.HttpParserCallbackError):
                    log.exception("a request could not be taken")
                if self._error is None and not self._is_last:
                    self._refuse(Refused.MALFORMED)
            else:
                if self._reading is not None and not self._took and self._error is None:
                    self._holds(len(rest))
            return

    def _resume(self) -> None:
        """The parser leaves out the body of a request that asks for an upgrade, and would take it
        for the next request: a new one is told what to expect.
        """
        head, self._resumed, self._resumes = self._resumed, b"", True
        self._parser.feed_data(head)
        self._resumes = False

    def _holds(self, size: int) -> None:
        """The parser has kept so many bytes more of a head, or of what follows a chunked body."""
        self._unfinished += size
        self._worker.admission.receives(self, size)
        if self._unfinished > 2 * self._worker.limits.head:
            self._refuse(Refused.HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        if self._resumes:
            return
        self._reading = Request()
        self._pieces = []
        self._size = self._head_bytes = self._unfinished = 0
        self._most = self._worker.limits.body
        self.phase = Refused.HEAD_TIMEOUT
        if self._current is None:
            self.deadline = _monotonic() + self._worker.limits.head_seconds

    def on_url(self, url: bytes) -> None:
        assert self._reading is not None
        if self._resumes:
            return
        self._head_bytes += len(url)
        # A target that comes in pieces is put together again.
        self._reading.path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        request = self._reading
        assert request is not None
        # What comes behind a chunked body is no header: a proxy has not looked at it.
        if self.phase is Refused.HEAD_TIMEOUT:
            request.headers.append((name, value))
        self._head_bytes += len(name) + len(value)
        limits = self._worker.limits
        too_large = self._head_bytes > limits.head or len(request.headers) > limits.headers
        if too_large and self._error is None:
            self._refuse(Refused.HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        request = self._reading
        if self._resumes:
            return
        assert request is not None
        parser = self._parser
        request.method = parser.get_method().decode("latin-1")
        request.version = parser.get_http_version()
        request.keeps = parser.should_keep_alive()
        if self._error is None:
            why, self._owes_continue = judge(request, self._worker.limits.body)
            if why is Refused.BODY_TOO_LARGE and not parser.should_upgrade():
                why = self._ask(request)
            is_busy = self._current is not None or self._ahead or self._is_asking
            if why is not None:
                self._refuse(why)
            elif self._owes_continue and not is_busy:
                self._continue()
            if parser.should_upgrade() and why is None:
                self._resumed = body_head(request)
        self.phase = Refused.BODY_TIMEOUT
        if self._current is None and self._error is None:
            self.deadline = _monotonic() + self._worker.limits.body_seconds

    def on_body(self, piece: bytes) -> None:
        self._took = True
        self._owes_continue = False
        self._unfinished = 0
        if self._error is not None:
            return
        self._size += len(piece)
        if self._size > self._most:
            self._refuse(Refused.BODY_TOO_LARGE)
            return
        self._pieces.append(piece)
        if self._most == self._worker.limits.body:  # room for a larger one is taken beforehand
            self._worker.admission.receives(self, len(piece))

    def on_message_complete(self) -> None:
        if self._resumed:
            return  # its body has yet to come
        request, self._reading = self._reading, None
        if self._error is not None or request is None or self.is_lost:
            return
        pieces = self._pieces
        request.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = []
        self._is_last = not request.keeps
        self._worker.admission.is_busy(self)
        self._put(request)

    def _ask(self, request: Request) -> Refused | None:
        """Leaves a large body unread until `may_send` is called; or says why it is refused."""
        why = self._worker.ask_for_large(self, request)
        if why is None:
            self._is_asking, self._most = True, request.length
            self.transport.pause_reading()
        return why

    def may_send(self, request: Request, why: Refused | None) -> None:
        """The request's large body may be sent, or is refused."""
        self._is_asking = False
        if self.is_lost:
            return
        if request is self._reading and self._error is None and why is not None:
            self._refuse(why)
        elif self._current is None and self._error is None:
            if request is self._reading:
                self._wait_for_more()
            self.transport.resume_reading()

    def _continue(self) -> None:
        """Asks the client for the body that it holds back."""
        self._owes_continue = False
        self.transport.write(_CONTINUE)

    def _put(self, item: Request | Refused) -> None:
        if self.is_lost:
            return
        self._ahead.append(item)
        if isinstance(item, Request):
            self._ahead_bytes += len(item.body)
        if self._current is None and not self.is_paused:
            self._begin_next()
            return
        is_much = self._ahead_bytes > self._worker.limits.body
        if is_much or len(self._ahead) >= _MOST_AHEAD or self.is_paused:
            self.transport.pause_reading()

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
                self.transport.resume_reading()
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

    def _refuse(self, why: Refused) -> None:
        """Nothing that this client sends from now on is read as a request."""
        self._error = why
        self._worker.admission.is_busy(self)
        self._pieces = []
        self._put(why)

    def _send_refusal(self, why: Refused) -> None:
        request = self._reading
        status, headers, body = self._worker.refuse(why, request)
        response = Response(status, headers, [body])
        head = head_of(response, None, keeps=False, chunked=False)
        write(self.transport, head, response, request)
        self._linger()

    def _linger(self) -> None:
        self._lingers = True
        self.deadline = _monotonic() + _LINGER_SECONDS
        self._worker.admission.is_idle(self)
        self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def respond(self, request: Request, response: Response) -> None:
        """Sends the response to the current request."""
        if self.is_lost:
            if response.sent is not None:
                response.sent()
            return
        worker = self._worker
        # Who has sent all it wants to has its answers coming still.
        goes_on = self._ahead or not self._is_closing
        keeps = bool(request.keeps and goes_on and not worker.is_stopping)
        if response.proceed is not None:
            self._begin_stream(request, response)
            return
        head = head_of(response, request, keeps=keeps, chunked=False)
        write(self.transport, head, response, request)
        if response.sent is not None:
            worker.on_drained(self, response.sent)
        self._end_response(keeps)

    def refuse_current(self, request: Request, why: Refused) -> None:
        """Refuses a whole request for which there is no thread, and keeps the connection."""
        status, headers, body = self._worker.refuse(why, request)
        self.respond(request, Response(status, headers, [body]))

    def _end_response(self, keeps: bool) -> None:
        self._current = None
        if not keeps:
            self._is_closing = True
            self.deadline = _NEVER  # until all is written: the worker looks after that
            self.transport.close()
            return
        if self.is_paused:
            self.deadline = _NEVER
        elif self._ahead:  # other connections have their turn between two of this one
            asyncio.get_running_loop().call_soon(self._begin_next)
        else:
            self._begin_next()

    def _begin_stream(self, request: Request, response: Response) -> None:
        chunked = request.version != "1.0"
        response.is_streamed = True
        head = head_of(response, request, keeps=False, chunked=chunked)
        self.transport.write(head)
        self._stream = Stream(self, response.proceed, response.sent, chunked=chunked)
        self._stream.begin(self._worker)

    def finish_stream(self) -> None:
        """What the stream wrote is sent, then the connection ends."""
        self._is_closing = True
        if not self.is_lost:
            self.transport.close()

    @property
    def is_waiting(self) -> bool:
        """Nothing of a request has come, and none is being answered."""
        return self._current is None and self._reading is None and not self._ahead

    def expire(self) -> None:
        """The deadline has passed."""
        if self._lingers or self._reading is None or self._error is not None:
            self.abort()
            return
        self._refuse(self.phase)

    def stop(self) -> None:
        """The process stops: what is being answered is answered, and nothing more."""
        self._is_closing = True
        if self.is_waiting and not self.is_paused:
            self.transport.close()

    def abort(self) -> None:
        self._worker.admission.remove(self)
        self.is_lost = True
        self.transport.abort()
