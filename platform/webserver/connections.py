"""One client's connection: HTTP/1.1 requests in, responses out, under deadlines."""

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, cast

import httptools

from webserver.requests import Request, path_of
from webserver.responses import Refused, Response, has_body, head_of
from webserver.streams import Stream

if TYPE_CHECKING:
    from webserver.worker import Worker

_NEVER = float("inf")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# A client that was refused while it still sends is read for so long, or it would see a reset
# connection in place of its refusal.
_LINGER_SECONDS = 3.0
_LINGER_BYTES = 1_048_576
# Below this a response is one write, above it its chunks are handed on as they are.
_JOINED = 65_536
# Requests that may have been read ahead of the one that is being answered.
_MOST_AHEAD = 16

_monotonic = time.monotonic


class Connection(asyncio.Protocol):
    """The event loop calls it; `respond` too is called on the loop. `peer` is the client's address
    and port, `deadline` when the connection is closed unless something happens before.
    """

    __slots__ = (
        "_ahead",
        "_current",
        "_discarded",
        "_error",
        "_head_bytes",
        "_is_closing",
        "_is_last",
        "_is_paused",
        "_lingers",
        "_parser",
        "_pieces",
        "_reading",
        "_size",
        "_stream",
        "_unfinished",
        "_wakes",
        "_worker",
        "deadline",
        "is_lost",
        "peer",
        "phase",
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
        self._ahead: deque[Request | Refused] = deque()
        self._current: Request | None = None
        self._stream: Stream | None = None
        self._is_paused = False
        self._is_closing = False
        self._is_last = False
        self._lingers = False
        self._discarded = 0
        self._wakes: asyncio.Future[None] | None = None

    # --- the transport's calls --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._worker.admission.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_lost = True
        self._worker.admission.remove(self)
        self._ahead.clear()
        self._pieces = []
        if self._stream is not None:
            self._stream.end()
        self._wake()

    def eof_received(self) -> bool:
        # A client that has sent all it wants to may still read what it is answered.
        if self._stream is not None or self._current is None:
            return False
        self._is_closing = True
        return True

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._wake()
        if self._current is None and not self._lingers:
            self._begin_next()

    def data_received(self, data: bytes) -> None:
        if self._error is not None or self._is_last or self._stream is not None:
            self._discarded += len(data)
            if self._discarded > _LINGER_BYTES:
                self.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Nothing else is spoken here: what follows is HTTP/1.1 as well.
            self._parser = httptools.HttpRequestParser(self)
            rest = data[upgrade.args[0] :]
            if rest and not self.is_lost:
                self.data_received(rest)
            return
        except httptools.HttpParserError:
            if self._error is None and not self._is_last:
                self._refuse(Refused.MALFORMED)
            return
        if self._reading is not None and self.phase is Refused.HEAD_TIMEOUT:
            # A single header without an end is in the parser's hands yet.
            self._unfinished += len(data)
            if self._unfinished > 2 * self._worker.limits.head and self._error is None:
                self._refuse(Refused.HEAD_TOO_LARGE)

    # --- the parser's calls -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._reading = Request()
        self._pieces = []
        self._size = self._head_bytes = self._unfinished = 0
        self.phase = Refused.HEAD_TIMEOUT
        if self._current is None:
            self.deadline = _monotonic() + self._worker.limits.head_seconds

    def on_url(self, url: bytes) -> None:
        assert self._reading is not None
        self._head_bytes += len(url)
        # A target that comes in pieces is put together again.
        self._reading.path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        request = self._reading
        assert request is not None
        request.headers.append((name, value))
        self._head_bytes += len(name) + len(value)
        limits = self._worker.limits
        too_large = self._head_bytes > limits.head or len(request.headers) > limits.headers
        if too_large and self._error is None:
            self._refuse(Refused.HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        request = self._reading
        assert request is not None
        parser = self._parser
        request.method = parser.get_method().decode("latin-1")
        request.version = parser.get_http_version()
        request.keeps = parser.should_keep_alive()
        if self._error is None:
            why = self._judge(request)
            if why is not None:
                self._refuse(why)
        self.phase = Refused.BODY_TIMEOUT
        if self._current is None and self._error is None:
            self.deadline = _monotonic() + self._worker.limits.body_seconds

    def on_body(self, piece: bytes) -> None:
        if self._error is not None:
            return
        self._size += len(piece)
        if self._size > self._worker.limits.body:
            self._refuse(Refused.BODY_TOO_LARGE)
            return
        self._pieces.append(piece)
        self._worker.admission.receives(self, len(piece))

    def on_message_complete(self) -> None:
        request, self._reading = self._reading, None
        if self._error is not None or request is None or self.is_lost:
            return
        pieces = self._pieces
        request.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = []
        self._is_last = not request.keeps
        self._worker.admission.is_busy(self)
        self._put(request)

    # --- requests ---------------------------------------------------------------------------------

    def _judge(self, request: Request) -> Refused | None:
        """Why the request is refused for its head alone; answers `Expect: 100-continue` else."""
        if request.version not in ("1.0", "1.1"):
            return Refused.MALFORMED
        hosts, length, expects = 0, -1, False
        for name, value in request.headers:
            lower = name.lower()
            if lower == b"host":
                hosts += 1
            elif lower == b"content-length":
                # Long numbers are refused before they are read as one.
                length = int(value) if value.isdigit() and len(value) < 16 else 1 << 62
            elif lower == b"content-type" and value[:20].strip().lower().startswith(b"multipart/"):
                return Refused.MULTIPART
            elif lower == b"expect":
                expects = value.lower() == b"100-continue"
        if hosts != 1 and (hosts or request.version != "1.0"):
            return Refused.HOST_REQUIRED
        target = request.path
        if not target.startswith("/"):
            found = path_of(target)
            if found is None:
                return Refused.MALFORMED
            target = found
        request.path, _, query = target.partition("?")
        request.query = query.partition("#")[0]
        if length > self._worker.limits.body:
            return Refused.BODY_TOO_LARGE
        if expects and length and self._current is None and not self._ahead:
            self.transport.write(_CONTINUE)
        return None

    def _put(self, item: Request | Refused) -> None:
        self._ahead.append(item)
        if self._current is None and not self._is_paused:
            self._begin_next()
        elif len(self._ahead) >= _MOST_AHEAD or self._is_paused:
            self.transport.pause_reading()

    def _begin_next(self) -> None:
        if self.is_lost or self._is_paused:
            return
        if not self._ahead:
            if self._is_closing:
                self.transport.close()
                return
            self._wait_for_more()
            self.transport.resume_reading()
            return
        item = self._ahead.popleft()
        if isinstance(item, Refused):
            self._send_refusal(item)
            return
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
            self.deadline = now + limits.body_seconds

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
        self._write(head_of(response, None, keeps=False, chunked=False), response, request)
        self._linger()

    def _linger(self) -> None:
        self._lingers = True
        self.deadline = _monotonic() + _LINGER_SECONDS
        self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # --- responses --------------------------------------------------------------------------------

    def respond(self, request: Request, response: Response) -> None:
        """Sends the response to the current request."""
        if self.is_lost:
            if response.sent is not None:
                response.sent()
            return
        worker = self._worker
        keeps = request.keeps and not self._is_closing and not worker.is_stopping
        if response.proceed is not None:
            self._begin_stream(request, response)
            return
        self._write(head_of(response, request, keeps=keeps, chunked=False), response, request)
        if response.sent is not None:
            worker.on_drained(self, response.sent)
        self._end_response(keeps)

    def refuse_current(self, request: Request, why: Refused) -> None:
        """Refuses a whole request for which there is no thread, and keeps the connection."""
        status, headers, body = self._worker.refuse(why, request)
        self.respond(request, Response(status, headers, [body]))

    def _write(self, head: bytes, response: Response, request: Request | None) -> None:
        chunks = response.chunks if has_body(response, request) else []
        if response.size < _JOINED:
            self.transport.write(b"".join([head, *chunks]))
        else:
            self.transport.writelines([head, *chunks])

    def _end_response(self, keeps: bool) -> None:
        self._current = None
        if not keeps:
            self._is_closing = True
            self.deadline = _NEVER  # until all is written: the worker looks after that
            self.transport.close()
            return
        if not self._is_paused:
            self._begin_next()
        else:
            self.deadline = _NEVER

    # --- streams ----------------------------------------------------------------------------------

    def _begin_stream(self, request: Request, response: Response) -> None:
        chunked = request.version != "1.0"
        response.is_streamed = True
        head = head_of(response, request, keeps=False, chunked=chunked)
        self.transport.write(head)
        self._stream = Stream(self, response.proceed, response.sent, chunked=chunked)
        self._stream.begin(self._worker)

    def finish_stream(self) -> None:
        """The stream's coroutine is done: what it wrote is sent, then the connection ends."""
        self._is_closing = True
        if not self.is_lost:
            self.transport.close()

    async def write_some(self, data: bytes) -> None:
        """Writes, and waits while the client has yet to take what was written before."""
        if self.is_lost:
            raise ConnectionResetError("the client is gone")
        self.transport.write(data)
        while self._is_paused and not self.is_lost:
            self._wakes = asyncio.get_running_loop().create_future()
            await self._wakes
        if self.is_lost:
            raise ConnectionResetError("the client is gone")

    def _wake(self) -> None:
        if self._wakes is not None and not self._wakes.done():
            self._wakes.set_result(None)

    # --- the end ----------------------------------------------------------------------------------

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
        if self.is_waiting and not self._is_paused:
            self.transport.close()

    def abort(self) -> None:
        self._worker.admission.remove(self)
        self.is_lost = True
        self.transport.abort()
