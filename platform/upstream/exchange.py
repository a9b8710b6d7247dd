"""One HTTP exchange with a server that may be hostile: bounded in size, and in time as a whole."""

import contextlib
import http.client
import math
import select
import socket
import ssl
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

_PIECE = 1 << 20
_CONNECT_SECONDS = 5.0
_TURN_SECONDS = 0.5


class AnswerTooLarge(http.client.HTTPException):
    """The response is above the bound, as it came or decompressed."""


class NotAnAnswer(http.client.HTTPException):
    """What came is not a whole HTTP response; the text says why."""


class NotConnected(OSError):
    """No connection came about in time."""


class Busy(Exception):
    """Every connection is in use, and none became free in time."""


class Place(NamedTuple):
    """One address behind a name, ready for a socket."""

    family: int
    sockaddr: Any


class Answer(NamedTuple):
    """A response, its body decompressed. `peer` is the IP address that it came from."""

    status: int
    body: bytes
    peer: str


class _Line(socket.socket):
    """A socket that is done by a deadline (monotonic seconds), however many calls it takes: its own
    timeout restarts with every byte.
    """

    deadline = math.inf

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(seconds_left(self.deadline))
        return super().recv_into(*args, **kwargs)

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self.settimeout(seconds_left(self.deadline))
        super().sendall(*args, **kwargs)


class _SecureLine(ssl.SSLSocket):
    """The same under TLS."""

    deadline = math.inf

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(seconds_left(self.deadline))
        return super().recv_into(*args, **kwargs)

    def send(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(seconds_left(self.deadline))
        return super().send(*args, **kwargs)


def seconds_left(deadline: float) -> float:
    """Raises TimeoutError when none are left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def tls_context() -> ssl.SSLContext:
    """The system's certificate authorities, for `Connection.open`."""
    context = ssl.create_default_context()
    context.sslsocket_class = _SecureLine
    return context


shared_tls_context = cache(tls_context)


class Connection:
    """One connection, for one exchange at a time. Its methods raise OSError (NotConnected, and
    TimeoutError at the deadline) and http.client.HTTPException.
    """

    def __init__(self, sock: "_Line | _SecureLine", peer: str) -> None:
        self._socket = sock
        self.peer = peer

    @classmethod
    def open(
        cls,
        places: Sequence[Place],
        *,
        deadline: float,
        tls: ssl.SSLContext | None = None,
        host: str = "",
        place_seconds: float = math.inf,
    ) -> "Connection":
        """To the first place that takes a connection. `tls` is a `tls_context`; the certificate is
        checked for `host`. A place is given up after `place_seconds`.
        """
        problem: OSError = OSError("no address")
        for place in places:
            plain = _Line(place.family, socket.SOCK_STREAM)
            try:
                plain.settimeout(min(seconds_left(deadline), place_seconds))
                plain.connect(place.sockaddr)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                plain.close()
                problem = NotConnected("timed out") if isinstance(error, TimeoutError) else error
                continue
            peer = str(place.sockaddr[0])
            if tls is None:
                return cls(plain, peer)
            try:
                plain.settimeout(seconds_left(deadline))
                secured = tls.wrap_socket(plain, server_hostname=host)
            except BaseException:
                plain.close()
                raise
            assert isinstance(secured, _SecureLine)
            return cls(secured, peer)
        raise problem

    def begin(self, request: bytes, *, deadline: float) -> http.client.HTTPResponse:
        """Sends the request and reads the response's head."""
        self._socket.deadline = deadline
        self._socket.sendall(request)
        response = http.client.HTTPResponse(self._socket, method="POST")
        try:
            response.begin()
        except BaseException:
            response.close()
            raise
        return response

    def ask(self, request: bytes, *, deadline: float, largest: int) -> tuple[Answer, bool]:
        """The response, and whether the connection is good for another exchange. `largest` bounds
        the body's bytes as they come, and once decompressed.
        """
        with contextlib.closing(self.begin(request, deadline=deadline)) as response:
            body = _body(response, largest)
            return Answer(response.status, body, self.peer), not response.will_close

    @property
    def is_silent(self) -> bool:
        """Whether nothing came since the last exchange, as it has to be before the next one."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self._socket.close()

    def __del__(self) -> None:
        self._socket.close()


class Client:
    """Exchanges with the server of one URL over kept connections. For any number of threads.

    With `most` no more exchanges than that are under way at a time; the next ones wait half a
    second for their turn.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], kept: int = 8, most: int | None = None
    ) -> None:
        parts = urlsplit(url)
        self.name = parts.netloc.rpartition("@")[2] or url
        self._url = url
        self._headers = {"Host": self.name, **headers}
        self._idle: deque[Connection] = deque()
        self._kept = kept
        self._turns = None if most is None else threading.BoundedSemaphore(most)

    def post(self, body: bytes, *, seconds: float, largest: int) -> Answer:
        """Raises OSError (TimeoutError when it took longer in all), http.client.HTTPException
        (AnswerTooLarge), and Busy.
        """
        if self._turns is None:
            return self._post(body, seconds, largest)
        if not self._turns.acquire(timeout=_TURN_SECONDS):
            raise Busy
        try:
            return self._post(body, seconds, largest)
        finally:
            self._turns.release()

    def close(self) -> None:
        """Ends the connections that no exchange uses."""
        while self._idle:
            self._idle.pop().close()

    def _post(self, body: bytes, seconds: float, largest: int) -> Answer:
        deadline = time.monotonic() + seconds
        request = request_bytes(read_url(self._url).target, self._headers, body)
        connection = self._idle_one()
        if connection is not None:
            # A server may close a connection that waited long just as we write: a new one, once.
            with contextlib.suppress(ConnectionError):
                return self._ask(connection, request, deadline, largest)
        return self._ask(self._new_one(deadline), request, deadline, largest)

    def _ask(self, connection: Connection, request: bytes, deadline: float, largest: int) -> Answer:
        keep = False
        try:
            answer, keep = connection.ask(request, deadline=deadline, largest=largest)
            return answer
        finally:
            if keep and len(self._idle) < self._kept:
                self._idle.append(connection)
            else:
                connection.close()

    def _new_one(self, deadline: float) -> Connection:
        address = read_url(self._url)
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        return Connection.open(
            [Place(family, sockaddr) for family, _, _, _, sockaddr in found],
            deadline=deadline,
            tls=shared_tls_context() if address.tls else None,
            host=address.host,
            place_seconds=_CONNECT_SECONDS,
        )

    def _idle_one(self) -> Connection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if connection.is_silent:
                return connection
            connection.close()


def request_bytes(target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A POST request; names and values of headers are written as they are."""
    return request_head(target, headers) + b"%d\r\n\r\n" % len(body) + body


def request_head(target: str, headers: Mapping[str, str]) -> bytes:
    """The head of a POST request, up to the value of its Content-Length."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {target} HTTP/1.1\r\n{lines}Content-Length: ".encode("latin-1")


class Address(NamedTuple):
    """Where requests to a URL go, `target` with its query."""

    tls: bool
    host: str
    port: int
    target: str


@cache
def read_url(url: str) -> Address:
    """Raises NotAnAnswer where the URL is none of HTTP."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host if ":" in host else host.encode("idna").decode("ascii")
    except ValueError:
        raise NotAnAnswer("the address cannot be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise NotAnAnswer("the address is not one of http:// or https://")
    query = f"?{parts.query}" if parts.query else ""
    target = quote(f"{parts.path or '/'}{query}", safe="/%:@!$&'()*+,;=~-._?[]")
    tls = parts.scheme == "https"
    return Address(tls, host, port or (443 if tls else 80), target)


def _body(response: http.client.HTTPResponse, largest: int) -> bytes:
    if response.length is not None and response.length > largest:
        raise AnswerTooLarge(f"the answer has more than {largest} bytes")
    encoding = (response.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding == "identity":
        return b"".join(_pieces(response, largest))
    if encoding not in ("gzip", "x-gzip"):
        raise NotAnAnswer("the answer has an encoding that was not asked for")
    return _inflated(_pieces(response, largest), largest)


def _pieces(response: http.client.HTTPResponse, largest: int) -> Iterator[bytes]:
    size = 0
    while piece := response.read1(_PIECE):
        size += len(piece)
        if size > largest:
            raise AnswerTooLarge(f"the answer has more than {largest} bytes")
        yield piece
    if response.length:
        raise NotAnAnswer("the connection ended within the answer")


def _inflated(pieces: Iterator[bytes], largest: int) -> bytes:
    unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)
    found: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            # One byte more than allowed is enough to know.
            found.append(unzip.decompress(piece, largest + 1 - size))
            size += len(found[-1])
            if size > largest:
                raise AnswerTooLarge(f"the answer has more than {largest} bytes decompressed")
            if unzip.unused_data:
                raise NotAnAnswer("bytes follow the compressed answer")
    except zlib.error:
        raise NotAnAnswer("the answer is not gzip, as it says") from None
    if not unzip.eof:
        raise NotAnAnswer("the compressed answer does not end")
    return b"".join(found)
