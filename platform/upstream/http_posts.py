"""POST requests from an event loop: written to a warm connection at once, at little cost each."""

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import cast
from urllib.parse import urlsplit

from upstream.http_answers import BadAnswer, Posted, read_answer

# As many as may be under way to one upstream.
_MOST_CONNECTIONS = 256
_CONNECT_SECONDS = 4.0


class BadAddress(ValueError):
    """Not an address that requests can be sent to."""


class PostFailed(Exception):
    """No answer came: the text says why."""


# Called once with the answer, or why there is none; never before `start` has returned.
Done = Callable[[Posted | PostFailed], None]


class Exchange:
    """A request, until its answer or its end is reported."""

    __slots__ = ("connection", "done", "is_done", "is_kept", "poster", "request", "timer")

    def __init__(self, poster: "Poster", request: bytes, done: Done) -> None:
        self.poster = poster
        self.request = request
        self.done = done
        self.is_done = False
        self.connection: _Connection | None = None
        self.is_kept = False  # the connection had served before
        self.timer: asyncio.TimerHandle | None = None

    def finish(self, answer: Posted | PostFailed) -> None:
        if not self.is_done:
            self.is_done = True
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            self.done(answer)

    def cancel(self) -> None:
        """Cancels the request; its connection cannot be reused."""
        self.is_done = True
        if self.timer is not None:
            self.timer.cancel()
        if self.connection is not None:
            self.connection.abort()

    def late(self, seconds: float) -> None:
        connection = self.connection
        self.finish(PostFailed(f"no answer within {seconds:g} s"))
        if connection is not None:
            connection.abort()


class Poster:
    """One server's connections, for one event loop. A request is on its socket before `start`
    returns if a connection is idle, and costs no task.
    """

    def __init__(self, url: str, *, most_connections: int = _MOST_CONNECTIONS) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise BadAddress(f"{url}: not a port") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise BadAddress(f"{url}: expected http://host or https://host, without a user")
        self.host = parts.hostname
        self._ssl = _tls() if parts.scheme == "https" else None
        self._port = port or (443 if self._ssl else 80)
        self._path = parts.path
        self._query = f"?{parts.query}" if parts.query else ""
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._most = most_connections
        self._waiting: deque[Exchange] = deque()
        self._heads: dict[str, bytes] = {}
        self.name = parts.netloc.rpartition("@")[2]

    def start(self, body: bytes, done: Done, *, seconds: float, path: str = "") -> Exchange:
        """Reports the answer, whatever its status. `path` is put behind that of the address."""
        exchange = Exchange(self, self._head(path) + b"%d\r\n\r\n" % len(body) + body, done)
        loop = asyncio.get_running_loop()
        exchange.timer = loop.call_later(seconds, exchange.late, seconds)
        self._begin(exchange)
        return exchange

    async def post(self, body: bytes, *, seconds: float, path: str = "") -> Posted:
        """As `start`. Raises PostFailed."""
        answer: asyncio.Future[Posted | PostFailed] = asyncio.get_running_loop().create_future()
        exchange = self.start(body, answer.set_result, seconds=seconds, path=path)
        try:
            posted = await answer
        except asyncio.CancelledError:
            exchange.cancel()
            raise
        if isinstance(posted, PostFailed):
            raise posted
        return posted

    async def warm(self, count: int, *, seconds: float) -> None:
        """So many connections are open, if they can be: the next requests wait for none."""
        missing = count - len(self._open) - len(self._opening)
        if missing > 0:
            await asyncio.wait([self._connect() for _ in range(missing)], timeout=seconds)

    async def close(self) -> None:
        """Closes the connections; pending requests fail."""
        for task in list(self._opening):
            task.cancel()
        for connection in list(self._open):
            connection.abort()
        while self._waiting:
            self._waiting.popleft().finish(PostFailed("the connection was closed"))
        await asyncio.sleep(0)

    def _head(self, path: str) -> bytes:
        head = self._heads.get(path)
        if head is None:
            target = f"{self._path.rstrip('/')}{path}" if path else self._path
            head = self._heads[path] = (
                f"POST {target or '/'}{self._query} HTTP/1.1\r\nHost: {self.name}\r\n"
                "Content-Type: application/json\r\nAccept: application/json\r\n"
                "Content-Length: "
            ).encode()
        return head

    def _begin(self, exchange: Exchange) -> None:
        while self._idle:
            connection = self._idle.pop()
            if connection.ask(exchange, is_kept=True):
                return
        self._waiting.append(exchange)
        self._open_more()

    def _open_more(self) -> None:
        """A connection for each request that waits, as far as there may be more of them."""
        while (
            len(self._opening) < len(self._waiting)
            and len(self._open) + len(self._opening) < self._most
        ):
            self._connect()

    def _connect(self) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(self._open_one())
        self._opening.add(task)
        task.add_done_callback(self._opened_or_not)
        return task

    def _opened_or_not(self, task: "asyncio.Task[None]") -> None:
        self._opening.discard(task)
        self._open_more()

    async def _open_one(self) -> None:
        """Gives a connection to the first waiting request, or fails that request."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self), self.host, self._port, ssl=self._ssl
                )
        except OSError as error:
            exchange = self._next_waiting()
            if exchange is not None:
                exchange.finish(PostFailed(_reason(error)))
            return
        self.free(connection, is_kept=False)

    def _next_waiting(self) -> Exchange | None:
        while self._waiting:
            exchange = self._waiting.popleft()
            if not exchange.is_done:
                return exchange
        return None

    def opened(self, connection: "_Connection") -> None:
        self._open.add(connection)

    def free(self, connection: "_Connection", *, is_kept: bool = True) -> None:
        """It is good for another request."""
        if connection not in self._open:
            return
        exchange = self._next_waiting()
        if exchange is None:
            self._idle.append(connection)
        elif not connection.ask(exchange, is_kept=is_kept):
            self._waiting.appendleft(exchange)
            self._open_more()

    def lost(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)
        self._open_more()

    def again(self, exchange: Exchange) -> None:
        """Its connection had waited long, and was closed as we wrote: by another one."""
        exchange.connection = None
        self._begin(exchange)


class _Connection(asyncio.Protocol):
    """One connection, and the one request that waits on it."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._exchange: Exchange | None = None
        self._answered = False  # something came for the request that waits

    def ask(self, exchange: Exchange, *, is_kept: bool) -> bool:
        """Whether the request could be written."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return False
        self._answered = False
        self._exchange = exchange
        exchange.connection, exchange.is_kept = self, is_kept
        transport.write(exchange.request)
        return True

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are of no class of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._poster.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._exchange is None or self._exchange.is_done:
            self.abort()  # it speaks unasked
            return
        if self._answered:
            self._received += data
            self._read(self._received, ended=False)
            return
        self._answered = True
        if not self._read(data, ended=False):
            self._received[:] = data

    def eof_received(self) -> None:
        if self._exchange is not None and self._answered:
            self._read(self._received, ended=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._poster.lost(self)
        exchange = self._exchange
        if exchange is None:
            return
        if self._answered and error is None:
            self._read(self._received, ended=True)
        if self._exchange is None or exchange.is_done:
            return
        self._exchange = None
        if exchange.is_kept and not self._answered:
            self._poster.again(exchange)
        else:
            exchange.finish(PostFailed("the connection was closed"))

    def _read(self, received: bytes | bytearray, *, ended: bool) -> bool:
        """Whether the answer is whole, or can never be."""
        exchange = self._exchange
        assert exchange is not None
        try:
            posted = read_answer(received, ended=ended)
        except BadAnswer as error:
            self._exchange = None
            self.abort()
            exchange.finish(PostFailed(str(error)))
            return True
        if posted is None:
            return False
        self._exchange = None
        exchange.connection = None
        if posted.keeps:
            self._poster.free(self)
        else:
            self.abort()
        exchange.finish(posted)
        return True


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return f"no connection within {_CONNECT_SECONDS:g} s"
    return (error.strerror or str(error) or type(error).__name__)[:200]
