"""Exchanges of an event loop: a request is written to a warm connection at once, at little cost."""

import asyncio
import contextlib
import sys
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import cast
from urllib.parse import urlsplit

from upstream.http.errors import BadAddress, NotConnected
from upstream.http.requests import CONNECT_SECONDS, Requests, shared_tls_context
from upstream.http.response import Reader, Response

# As many as may be under way to one upstream.
_MOST_CONNECTIONS = 256
_LARGEST_ANSWER = 1_048_576
_AHEAD = 262_144  # of a response that is taken as it comes, no more is read ahead
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
WHOLE = sys.maxsize

# Called once, when the response is there or has failed; never before `start` has returned.
Ready = Callable[[Response], None]


class Exchange:
    """A request and its response. `ready` is called when the response is whole or has failed, or
    when `wanted` bytes of it are there.
    """

    __slots__ = ("connection", "is_kept", "ready", "request", "response", "timer", "wanted")

    def __init__(self, request: bytes, ready: Ready, *, wanted: int, largest: int) -> None:
        self.request = request
        self.response = Response(largest=largest)
        self.ready: Ready | None = ready
        self.wanted = wanted
        self.connection: _Connection | None = None
        self.is_kept = False  # the connection had served before
        self.timer: asyncio.TimerHandle | None = None

    def report(self) -> None:
        ready, self.ready = self.ready, None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if ready is not None:
            ready(self.response)

    def fail(self, failure: OSError) -> None:
        """The connection of a response that is not whole cannot be reused."""
        self.response.fail(failure)
        connection, self.connection = self.connection, None
        self.report()
        if connection is not None:
            connection.abort()

    def late(self, seconds: float) -> None:
        self.fail(TimeoutError(f"no answer within {seconds:g} s"))

    def cancel(self) -> None:
        """Cancels what is not over yet, and reports nothing."""
        self.ready = None
        self.fail(ConnectionError("cancelled"))

    def take(self) -> bytes:
        """The response's next bytes; more of it may come."""
        if self.connection is not None:
            self.connection.resume()
        return self.response.take()

    async def more(self, seconds: float) -> None:
        """Waits until something of the body is there, or the response is over."""
        if self.response.held or self.response.is_over:
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Response] = loop.create_future()
        self.ready, self.wanted = partial(_wake, waiter), 1
        self.timer = loop.call_later(max(0.0, seconds), self.late, seconds)
        try:
            await waiter
        except asyncio.CancelledError:
            self.cancel()
            raise


class Poster:
    """One server's connections, for one event loop. A request is on its socket before `start`
    returns if a connection is idle, and costs no task.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = _JSON,
        most_connections: int = _MOST_CONNECTIONS,
        largest: int = _LARGEST_ANSWER,
    ) -> None:
        self._requests = Requests(url, headers)
        self.name = self._requests.name
        problem = f"{url}: expected http://host or https://host, without a user"
        try:
            self._address = self._requests.address
        except BadAddress:
            raise BadAddress(problem) from None
        if "@" in urlsplit(url).netloc:
            raise BadAddress(problem)
        self._largest = largest
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._most = most_connections
        self._waiting: deque[Exchange] = deque()

    def start(
        self, body: bytes, ready: Ready, *, seconds: float, path: str = "", wanted: int = WHOLE
    ) -> Exchange:
        """Reports the response, whatever its status. `path` is put behind that of the address."""
        request = self._requests.with_body(body, path)
        exchange = Exchange(request, ready, wanted=wanted, largest=self._largest)
        loop = asyncio.get_running_loop()
        exchange.timer = loop.call_later(seconds, exchange.late, seconds)
        self._begin(exchange)
        return exchange

    async def exchange(
        self, body: bytes, *, seconds: float, path: str = "", wanted: int = WHOLE
    ) -> Exchange:
        """As `start`. Raises the response's failure."""
        waiter: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        ready = partial(_wake, waiter)
        exchange = self.start(body, ready, seconds=seconds, path=path, wanted=wanted)
        try:
            response = await waiter
        except asyncio.CancelledError:
            exchange.cancel()
            raise
        if response.failure is not None:
            raise response.failure
        return exchange

    async def post(self, body: bytes, *, seconds: float, path: str = "") -> Response:
        """As `exchange`: the whole response."""
        return (await self.exchange(body, seconds=seconds, path=path)).response

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
            self._waiting.popleft().fail(ConnectionError("the connection was closed"))
        await asyncio.sleep(0)

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
        address = self._address
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self),
                    address.host,
                    address.port,
                    ssl=shared_tls_context() if address.tls else None,
                )
        except OSError as error:
            exchange = self._next_waiting()
            if exchange is not None:
                exchange.fail(NotConnected(_reason(error)))
            return
        self.free(connection, is_kept=False)

    def _next_waiting(self) -> Exchange | None:
        while self._waiting:
            exchange = self._waiting.popleft()
            if not exchange.response.is_over:
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
    """One connection, and the one exchange that is under way on it."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster
        self._transport: asyncio.Transport | None = None
        self._reader = Reader()
        self._exchange: Exchange | None = None
        self._is_paused = False

    def ask(self, exchange: Exchange, *, is_kept: bool) -> bool:
        """Whether the request could be written."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return False
        self._exchange = exchange
        exchange.connection, exchange.is_kept = self, is_kept
        self._reader.begin(exchange.response)
        transport.write(exchange.request)
        return True

    def resume(self) -> None:
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are of no class of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._poster.opened(self)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:
            self.abort()  # it speaks unasked
            return
        response = exchange.response
        self._reader.feed(data)
        if response.is_whole or response.failure is not None:
            self._exchange = exchange.connection = None
            if response.keeps:
                if self._is_paused:
                    self.resume()
                self._poster.free(self)
            else:
                self.abort()
            exchange.report()
        elif response.held >= exchange.wanted:
            exchange.report()
            if response.held > _AHEAD and not self._is_paused and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._poster.lost(self)
        exchange, self._exchange = self._exchange, None
        if exchange is None or exchange.response.is_over:
            return
        began = self._reader.began
        if exchange.is_kept and not began:
            self._poster.again(exchange)
            return
        exchange.connection = None
        is_cut = error is not None or not began
        self._reader.end(ConnectionError("the connection was closed") if is_cut else None)
        exchange.report()


def _wake(waiter: "asyncio.Future[Response]", response: Response) -> None:
    if not waiter.done():  # its task may be cancelled in this turn of the loop
        waiter.set_result(response)


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_SECONDS:g} s"
    return (error.strerror or str(error) or type(error).__name__)[:200]
