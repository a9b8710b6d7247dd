"""POST requests from an event loop: written to a warm connection at once, at little cost each."""

import asyncio
import contextlib
import ssl
from collections import deque
from functools import cache
from urllib.parse import urlsplit

from upstream.http_answers import BadAnswer, Posted, read_answer

_MOST_CONNECTIONS = 64


class BadAddress(ValueError):
    """Not an address that requests can be sent to."""


class PostFailed(Exception):
    """No answer came: the text says why."""


class Poster:
    """One server's connections, for one event loop. A request costs some 45 µs of a core, and is on
    its socket before the first await if a connection is idle; aiohttp's client takes 97.
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
        self._opening = 0
        self._most = most_connections
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._heads: dict[str, bytes] = {}
        self.name = parts.netloc.rpartition("@")[2]

    async def post(self, body: bytes, *, seconds: float, path: str = "") -> Posted:
        """The answer, whatever its status. `path` is put behind that of the address. Raises
        PostFailed.
        """
        request = self._head(path) + b"%d\r\n\r\n" % len(body) + body
        try:
            async with asyncio.timeout(seconds):
                return await self._exchange(request)
        except TimeoutError:
            raise PostFailed(f"no answer within {seconds:g} s") from None
        except BadAnswer as error:
            raise PostFailed(str(error)) from None
        except OSError as error:
            raise PostFailed(_reason(error)) from None

    async def warm(self, count: int, *, seconds: float) -> None:
        """So many connections are open, if they can be: the next requests wait for none."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(seconds):
                while len(self._open) + self._opening < count:
                    self._give_back(await self._connect())

    async def close(self) -> None:
        """Ends the connections; whoever waits for an answer gets none."""
        for connection in list(self._open):
            connection.abort()
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

    async def _exchange(self, request: bytes) -> Posted:
        while True:
            connection = self._idle.pop() if self._idle else None
            kept = connection is not None
            if connection is None:
                connection = await self._connect_in_turn()
            try:
                posted = await connection.ask(request)
            except _Ended:
                # It was closed as we wrote, for it had waited long: a new one, once.
                if kept and not connection.answered:
                    continue
                raise PostFailed("the connection was closed") from None
            except BaseException:
                connection.abort()
                raise
            if posted.keeps:
                self._give_back(connection)
            else:
                connection.abort()
            return posted

    async def _connect_in_turn(self) -> "_Connection":
        while len(self._open) + self._opening >= self._most:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            finally:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(turn)
            if self._idle:
                return self._idle.pop()
        return await self._connect()

    async def _connect(self) -> "_Connection":
        self._opening += 1
        try:
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(
                lambda: _Connection(self), self.host, self._port, ssl=self._ssl
            )
            return connection
        finally:
            self._opening -= 1

    def _give_back(self, connection: "_Connection") -> None:
        if connection in self._open:
            self._idle.append(connection)
            self._wake()

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def opened(self, connection: "_Connection") -> None:
        self._open.add(connection)

    def lost(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)
        self._wake()


class _Ended(Exception):
    """The connection is gone."""


class _Connection(asyncio.Protocol):
    """One connection, and the one request that waits on it."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._answer: asyncio.Future[Posted] | None = None
        self.answered = False  # something came for the request that waits

    async def ask(self, request: bytes) -> Posted:
        transport = self._transport
        if transport is None or transport.is_closing():
            self.answered = False
            raise _Ended
        self.answered = False
        self._received.clear()
        self._answer = asyncio.get_running_loop().create_future()
        transport.write(request)
        try:
            return await self._answer
        finally:
            self._answer = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._poster.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # it speaks unasked
            return
        self.answered = True
        self._received += data
        self._read(ended=False)

    def eof_received(self) -> None:
        if self._answer is not None and not self._answer.done() and self.answered:
            self._read(ended=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._poster.lost(self)
        if self._answer is not None and not self._answer.done():
            if self.answered and error is None:
                self._read(ended=True)
            if not self._answer.done():
                self._answer.set_exception(_Ended())

    def _read(self, *, ended: bool) -> None:
        assert self._answer is not None
        try:
            posted = read_answer(self._received, ended=ended)
        except BadAnswer as error:
            self._answer.set_exception(error)
            return
        if posted is not None:
            self._answer.set_result(posted)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return (error.strerror or str(error) or type(error).__name__)[:200]
