"""A response's head as bytes, and refusals of requests that never reach the application."""

import asyncio
import contextlib
import enum
import socket
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from webserver.requests import Request
from webserver.upgrades import Upgrade

Headers = Sequence[tuple[str, str]]

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_BODYLESS = {204, 304}
# Below this a response is one write, above it its chunks are handed on as they are.
_JOINED = 65_536


class Refused(enum.Enum):
    """Why a request is refused at once; the value is its HTTP status."""

    MALFORMED = 400, "malformed"
    HOST_REQUIRED = 400, "host_required"
    HEAD_TIMEOUT = 408, "head_timeout"
    BODY_TIMEOUT = 408, "body_timeout"
    BODY_TOO_LARGE = 413, "body_too_large"
    MULTIPART = 415, "multipart"
    HEAD_TOO_LARGE = 431, "head_too_large"
    TOO_MANY_AT_ONCE = 429, "too_many_at_once"
    FAILED = 500, "failed"
    METHOD_UNKNOWN = 501, "method_unknown"
    TOO_MANY_CONNECTIONS = 503, "too_many_connections"
    OVERLOADED = 503, "overloaded"

    @property
    def status(self) -> int:
        return self.value[0]

    @property
    def word(self) -> str:
        return self.value[1]


# (status, headers, body) of a refusal; the request is None where none could be read.
Refuse = Callable[[Refused, "Request | None"], tuple[int, Headers, bytes]]


def plain_refusal(why: Refused, _request: Request | None) -> tuple[int, Headers, bytes]:
    """A refusal in plain text."""
    body = f"{why.word}\n".encode()
    return why.status, [("Content-Type", "text/plain; charset=utf-8")], body


@dataclass(slots=True)
class Response:
    """What an application answered: `chunks` are sent as they are, `proceed` goes on with the
    connection on the loop; behind it the connection ends unless it `goes_on`. `later` makes the
    response to send in place of this one. `lines` are all headers as bytes, in place of `headers`.
    With status 101 `upgrade` makes the handler of the connection. `is_known`: the application knew
    who sent the request, and admitted them.
    """

    status: int
    headers: Headers
    chunks: list[bytes] = field(default_factory=list)
    proceed: Callable[..., Any] | None = None
    sent: Callable[[], None] | None = None
    is_streamed: bool = False
    goes_on: bool = False
    later: Callable[[], Coroutine[Any, Any, "Response"]] | None = None
    lines: bytes | None = None
    upgrade: Upgrade | None = None
    is_known: bool = False

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks))


class Clock:
    """The Date header, made once a second."""

    def __init__(self) -> None:
        self._second = 0
        self._text = b""

    def date(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._text = b"Date: " + formatdate(second, usegmt=True).encode() + b"\r\n"
        return self._text


clock = Clock()
_lines: dict[int, bytes] = {}


def head_of(response: Response, request: Request | None, *, keeps: bool, chunked: bool) -> bytes:
    """The status line and the headers, with the empty line behind them."""
    status = response.status
    line = _lines.get(status)
    if line is None:
        line = f"HTTP/1.1 {status} {_PHRASES.get(status, 'Unknown')}\r\n".encode()
        _lines[status] = line
    if response.lines is not None:
        if keeps and not chunked and (request is None or request.version == "1.1"):
            return b"".join((line, clock.date(), response.lines, b"\r\n"))
        has_length, parts = True, [response.lines.decode("latin-1")]
    else:
        has_length, parts = False, []
    for name, value in response.headers:
        lower = name.lower()
        if lower in ("connection", "transfer-encoding", "date", "server"):
            continue  # the server's own
        if status in _BODYLESS and lower in ("content-length", "content-type"):
            continue
        if chunked and lower == "content-length":
            continue
        has_length = has_length or lower == "content-length"
        parts.append(f"{name}: {value}\r\n")
    if chunked:
        parts.append("Transfer-Encoding: chunked\r\n")
    elif not has_length and status not in _BODYLESS and not response.is_streamed:
        parts.append(f"Content-Length: {response.size}\r\n")
    if not keeps:
        parts.append("Connection: close\r\n")
    elif request is not None and request.version == "1.0":
        parts.append("Connection: keep-alive\r\n")
    return line + clock.date() + "".join(parts).encode("latin-1") + b"\r\n"


def turn_away(accepted: socket.socket, refuse: Refuse) -> None:
    """Refuses a connection that was accepted, and closes it."""
    status, headers, body = refuse(Refused.TOO_MANY_CONNECTIONS, None)
    response = Response(status, headers, [body])
    with contextlib.suppress(OSError):
        accepted.setblocking(False)
        accepted.send(head_of(response, None, keeps=False, chunked=False) + body)
        # What was sent already is read, or the refusal would be lost to a reset connection.
        accepted.shutdown(socket.SHUT_WR)
        accepted.recv(65_536)
    accepted.close()


def has_body(response: Response, request: Request | None) -> bool:
    """Whether bytes follow the head at all."""
    return response.status not in _BODYLESS and (request is None or request.method != "HEAD")


def write(
    transport: asyncio.WriteTransport, response: Response, request: Request | None, *, keeps: bool
) -> None:
    """Hands the response to the transport; without its body where the request wants none."""
    head = head_of(response, request, keeps=keeps, chunked=False)
    chunks = response.chunks if has_body(response, request) else []
    if response.size < _JOINED:
        transport.write(b"".join([head, *chunks]))
    else:
        transport.writelines([head, *chunks])
