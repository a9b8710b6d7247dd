"""The response of a call with the headers of every RPC response: as Django's response, or as bytes
for the web server; and the ids of requests.
"""

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from access.buckets import Taken
from gateway.endpoint_policy import ErrorFormat
from gateway.refusals import RPC_CONTENT_TYPE, body_of, headers_of, status_of
from jsonrpc.errors import RpcError
from webserver.responses import Response

_EXPOSED = (
    "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After,"
    " X-Bundle-Id, X-Queue-Milliseconds, X-Advice, X-History-Source, X-Ledger-Gaps"
)
# In the form in which Django keeps headers: {lower-case name: (name, value)}.
_EVERY = {
    "access-control-allow-origin": ("Access-Control-Allow-Origin", "*"),
    "access-control-expose-headers": ("Access-Control-Expose-Headers", _EXPOSED),
    "vary": ("Vary", "Accept-Encoding"),
    "x-content-type-options": ("X-Content-Type-Options", "nosniff"),
}
_EVERY_LINES = "".join(f"{name}: {value}\r\n" for name, value in _EVERY.values()).encode()
_JSON_LINES = f"Content-Type: {RPC_CONTENT_TYPE}\r\n".encode() + _EVERY_LINES

_sane = re.compile(r"[A-Za-z0-9._:+/=-]{1,64}").fullmatch
_process = os.urandom(6).hex()
_numbers = itertools.count(1)


def _after_fork() -> None:
    global _process
    _process = os.urandom(6).hex()


os.register_at_fork(after_in_child=_after_fork)


def request_id(incoming: str | None) -> str:
    """X-Request-Id: the client's own if it is valid, else a new one."""
    return sane_request_id(incoming) or new_request_id()


def sane_request_id(incoming: str | None) -> str | None:
    """The client's own; None without one that can be written into a log."""
    return incoming if incoming and _sane(incoming) else None


def new_request_id() -> str:
    """Unique over processes; no clock, no system call."""
    return f"{_process}-{next(_numbers):x}"


@dataclass(slots=True)
class Answered:
    """The response to a body: its chunks, compressed if there is an `encoding`. The server calls
    `sent` when the response has left the process.
    """

    chunks: list[bytes]
    status: int = 200
    content_type: str = RPC_CONTENT_TYPE
    encoding: str | None = None
    headers: Mapping[str, str] | None = None
    sent: Callable[[], None] | None = None

    def response(self, request_id: str, taken: Taken | None) -> Response:
        """The web server's own response."""
        lines = self.lines(request_id, taken)
        return Response(self.status, (), self.chunks, sent=self.sent, lines=lines)

    def lines(self, request_id: str, taken: Taken | None, *, length: bool = True) -> bytes:
        """The header lines; without Content-Length if the `length` is unknown."""
        if self.content_type == RPC_CONTENT_TYPE:
            parts = [_JSON_LINES]
        else:
            parts = [f"Content-Type: {self.content_type}\r\n".encode(), _EVERY_LINES]
        if length:
            parts.append(b"Content-Length: %d\r\n" % sum(map(len, self.chunks)))
        text = f"X-Request-Id: {request_id}\r\n"
        if self.encoding is not None:
            text += f"Content-Encoding: {self.encoding}\r\n"
        if taken is not None:
            text += (
                f"X-RateLimit-Limit: {taken.limit}\r\nX-RateLimit-Remaining: {taken.remaining}\r\n"
                f"X-RateLimit-Reset: {taken.reset_seconds}\r\n"
            )
        if self.headers:
            text += "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        parts.append(text.encode("latin-1"))
        return b"".join(parts)


def refused(error: RpcError, error_format: ErrorFormat) -> Answered:
    """The refusal of a whole body."""
    content_type, text = body_of(error, error_format)
    return Answered(
        [text], status=status_of(error), content_type=content_type, headers=headers_of(error)
    )


def add_common_headers(response: HttpResponseBase, request_id: str) -> None:
    """Adds the headers of every endpoint's response to one that is no Answer."""
    for name, value in _EVERY.values():
        response.headers[name] = value
    response.headers["X-Request-Id"] = request_id


class Answer(HttpResponse):
    """The chunks go to the server one after the other, never joined."""

    def __init__(self, answered: Answered, request_id: str, taken: Taken | None = None) -> None:
        super().__init__(status=answered.status, content_type=answered.content_type)
        self.chunks = answered.chunks
        self.sent = answered.sent  # called when the response has left the process
        # Directly into the mapping: our values need none of Django's checks of each header, which
        # cost more than the rest of the response.
        store = self.headers._store
        store.update(_EVERY)
        store["content-length"] = ("Content-Length", str(sum(map(len, self.chunks))))
        store["x-request-id"] = ("X-Request-Id", request_id)
        if answered.encoding is not None:
            store["content-encoding"] = ("Content-Encoding", answered.encoding)
        if taken is not None:
            store["x-ratelimit-limit"] = ("X-RateLimit-Limit", str(taken.limit))
            store["x-ratelimit-remaining"] = ("X-RateLimit-Remaining", str(taken.remaining))
            store["x-ratelimit-reset"] = ("X-RateLimit-Reset", str(taken.reset_seconds))
        for name, value in (answered.headers or {}).items():
            self[name] = value

    @property
    def content(self) -> bytes:
        return b"".join(self.chunks)

    @content.setter
    def content(self, value: bytes) -> None:
        self.chunks = [value]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)
