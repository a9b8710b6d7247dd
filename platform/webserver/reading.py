"""Reads a connection's bytes into whole requests, or the reason for a refusal."""

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import httptools

from webserver.heads import LINE_END, body_head, end_of_chunks, end_of_head, judge, method_of
from webserver.paced_input import PacedInput
from webserver.requests import Request, Shared
from webserver.responses import Refused
from webserver.upgrades import is_websocket

if TYPE_CHECKING:
    from webserver.worker import Worker

log = logging.getLogger(__name__)

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# A client that was refused while it still sends is read up to so much, or it would see a reset
# connection in place of its refusal.
_LINGER_BYTES = 1_048_576
_OF_HEADS = frozenset(
    {Refused.MALFORMED, Refused.HOST_REQUIRED, Refused.HEAD_TOO_LARGE, Refused.METHOD_UNKNOWN}
)

# Heads that a connection remembers: those of one client differ by the length of the body.
_MOST_HEADS = 3
# Bytes of a head that is remembered.
_LONGEST_HEAD = 2_048
_END_OF_HEAD = b"\r\n\r\n"
# With these, what follows the head is not simply its body.
_UNLIKE = {b"expect", b"upgrade", b"transfer-encoding"}

_monotonic = time.monotonic


class Reader(asyncio.Protocol):
    """Gives each request that has come whole, or why the next one cannot, to `_put`.

    `peer` is the client's address and port, `deadline` when the connection is closed unless
    something happens before. All of it runs on the event loop.
    """

    __slots__ = (
        "_ahead",
        "_completed",
        "_current",
        "_discarded",
        "_error",
        "_head_bytes",
        "_ignores",
        "_input",
        "_is_asking",
        "_is_last",
        "_is_reading",
        "_line",
        "_most",
        "_owes_continue",
        "_parser",
        "_pieces",
        "_reading",
        "_repeats",
        "_resumed",
        "_resumes",
        "_size",
        "_took",
        "_unfinished",
        "_upgrading",
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
        self._input: PacedInput = cast(PacedInput, None)
        self._is_reading = False
        self.is_lost = False
        self.phase = Refused.HEAD_TIMEOUT  # why a request that is not whole by then is refused
        self.deadline = _monotonic() + worker.limits.first_seconds
        self._parser = httptools.HttpRequestParser(self)
        self._reading: Request | None = None
        self._line = b""  # the end of a request line that is not whole
        self._pieces: list[bytes] = []
        self._size = 0
        self._most = 0  # bytes that the body may have
        self._is_asking = False  # whether it may have more
        self._head_bytes = 0
        self._unfinished = 0
        self._error: Refused | None = None
        self._resumed = b""
        self._resumes = False
        self._took = False
        self._owes_continue = False
        self._is_last = False
        self._ignores = False  # what still comes is no request's
        self._discarded = 0
        self._completed: Request | None = None  # by the data that are being read
        self._repeats = Repeats()
        # A request for another protocol that is not answered yet: what came behind it is not read.
        self._upgrading: Request | None = None
        # The request that is being answered, and what came behind it.
        self._current: Request | None = None
        self._ahead: deque[Request | Refused] = deque()

    def _put(self, item: Request | Refused) -> None:
        raise NotImplementedError

    def _received(self, size: int) -> None:
        """So many bytes more are held of a request that is not whole."""
        raise NotImplementedError

    def _is_busy(self) -> None:
        """The connection is not idle any more."""
        raise NotImplementedError

    def _wait_for_more(self) -> None:
        """Sets the deadline of what has yet to come."""
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        if self._reading is None and self._input.is_idle and self._takes_requests():
            request = self._repeats.read(data)
            if request is not None:
                self._is_busy()
                self._put(request)
                return
        self._input.received(data)

    def _read(self, data: bytes) -> None:
        """Reads a slice of what came. What is whole with it is answered behind it."""
        self._is_reading = True
        try:
            self._read_slice(data)
        finally:
            self._is_reading = False

    def _read_slice(self, data: bytes) -> None:
        is_new = self._reading is None
        self._feed(data)
        request, self._completed = self._completed, None
        if is_new and request is not None:
            self._repeats.keep(data, request)

    def _takes_requests(self) -> bool:
        return not (self._error is not None or self._is_last or self._ignores or self.is_lost)

    def _feed(self, data: bytes) -> None:
        begin = held = 0
        while not self.is_lost:
            if self._error is not None or self._is_last or self._ignores:
                self._discarded += len(data) - begin
                # A refused body may be a large one; behind a refused head nothing is meant.
                large = 0 if self._error in _OF_HEADS else self._worker.large_maximum
                if self._discarded > _LINGER_BYTES + large:
                    self.abort()
                return
            if begin == len(data):
                if held:
                    self._holds(held)
                return
            line = self._line
            end = self._end_of_part(data, begin)
            if end is None:
                self._refuse(Refused.MALFORMED)
                continue
            self._took = False
            try:
                is_part = begin or end < len(data)
                self._parser.feed_data(memoryview(data)[begin:end] if is_part else data)
            except httptools.HttpParserUpgrade as upgrade:
                # Nothing else is spoken here: what follows is HTTP/1.1 as well.
                self._parser = httptools.HttpRequestParser(self)
                begin += upgrade.args[0]
                if self._upgrading is not None:  # of a protocol that is not agreed on yet
                    self._input.put_back(data[begin:])
                    self._input.hold()
                    return
                if self._resumed:
                    self._resume()
                continue
            except httptools.HttpParserError as error:
                if isinstance(error, httptools.HttpParserCallbackError):
                    log.exception("a request could not be taken")
                if self._error is None and not self._is_last:
                    is_method = isinstance(error, httptools.HttpParserInvalidMethodError)
                    self._refuse_head(line + data[begin:end] if is_method else b"")
                return
            held = 0 if self._took or self._reading is None else held + end - begin
            begin = end

    def _end_of_part(self, data: bytes, begin: int) -> int | None:
        """Where the parser is to stop, so that a part begins with each request; None at a request
        line that is not HTTP's: the parser would take RTSP and ICE for it.
        """
        request = self._reading
        if request is None or self._line:
            end = data.find(b"\n", begin) + 1 or len(data)
            line = self._line + data[max(begin, end - LINE_END) : end]
            is_whole = line.endswith(b"\n")
            self._line = b"" if is_whole else line[-LINE_END:]
            if not is_whole or line.isspace():
                return end
            return end_of_head(data, max(0, end - 2)) if b"HTTP/" in line else None
        if request.length > 0:
            return min(begin + request.length - self._size, len(data))
        if self.phase is Refused.HEAD_TIMEOUT:
            return end_of_head(data, begin)
        return end_of_chunks(data, begin)

    def _resume(self) -> None:
        """The parser skips the body of a request with an upgrade and would read it as the next
        request: first it gets a head that announces the body.
        """
        head, self._resumed, self._resumes = self._resumed, b"", True
        self._parser.feed_data(head)
        self._resumes = False

    def _holds(self, size: int) -> None:
        """The parser has kept so many bytes more of a head, or of what follows a chunked body."""
        self._unfinished += size
        self._received(size)
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
            self._received(len(piece))

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
        self._completed = request
        request.upgrades = self._parser.should_upgrade() and is_websocket(request)
        if request.upgrades:
            self._upgrading = request
        self._is_busy()
        self._put(request)

    def _ask(self, request: Request) -> Refused | None:
        """Leaves a large body unread until `may_send` is called; or says why it is refused."""
        why = self._worker.ask_for_large(self, request)
        if why is None:
            self._is_asking, self._most = True, request.length
            self._input.hold()
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
            self._input.release()

    def _continue(self) -> None:
        """Asks the client for the body that it holds back."""
        self._owes_continue = False
        self.transport.write(_CONTINUE)

    def _refuse_head(self, line: bytes) -> None:
        """Refuses what the parser does not read: `line`, where its method is why."""
        method = method_of(line)
        if method and self._reading is not None:
            self._reading.method = method
        self._refuse(Refused.METHOD_UNKNOWN if method else Refused.MALFORMED)

    def _refuse(self, why: Refused) -> None:
        """Nothing that this client sends from now on is read as a request."""
        self._error = why
        self._is_busy()
        self._pieces = []
        self._put(why)


class Repeats:
    """The last heads of one connection, by the bytes that a request has with its body: clients that
    keep a connection send the same head again and again, and need no second reading of it.
    """

    __slots__ = ("_by_size",)

    def __init__(self) -> None:
        self._by_size: dict[int, _Repeat] = {}

    def read(self, data: bytes) -> Request | None:
        """The request, where the data are a head again with a body and nothing more."""
        found = self._by_size.get(len(data))
        if found is None or not data.startswith(found.head):
            return None
        like = found.request
        return Request(
            like.method,
            like.path,
            like.query,
            like.version,
            like.headers,
            data[len(found.head) :],
            length=like.length,
            shared=like.shared,
        )

    def keep(self, data: bytes, request: Request) -> None:
        """Remembers the head of the data that were read to the request, if it may be repeated."""
        repeat, by_size = _repeat_of(data, request), self._by_size
        by_size.pop(len(data), None)
        if repeat is None:
            return
        if len(by_size) >= _MOST_HEADS:
            del by_size[next(iter(by_size))]
        by_size[len(data)] = repeat


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A head as it came, and what it was read to."""

    head: bytes
    request: Request


def _repeat_of(data: bytes, request: Request) -> _Repeat | None:
    """What may be repeated; None where the data are anything but one head with its body."""
    length = max(request.length, 0)
    end = len(data) - length
    if (
        end > _LONGEST_HEAD
        or not request.keeps
        or data.find(_END_OF_HEAD) != end - len(_END_OF_HEAD)
    ):
        return None
    if any(name.lower() in _UNLIKE for name, _value in request.headers):
        return None
    return _Repeat(data[:end], replace(request, body=b"", shared=Shared()))
