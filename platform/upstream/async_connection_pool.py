"""AsyncConnectionPool: connections of an event loop to a node; responses can be streamed."""

import asyncio
import zlib
from collections.abc import Hashable
from typing import cast
from weakref import WeakKeyDictionary

import httptools

from upstream.connection_pool import (
    HEADERS,
    LARGEST_ANSWER,
    AnswerTooLarge,
    Busy,
    TimedOut,
    Unreachable,
)
from upstream.fair_limit import FairLimit, LimitReached
from upstream.http.errors import BadAddress
from upstream.http.requests import Address, Requests, shared_tls_context

# An answer up to this size is waited for whole; of a longer one so much is read ahead.
HELD = 65_536
_AHEAD = 262_144
_LARGEST_HEAD = 65_536
_MOST_HEADERS = 100
_MOST_INTERIM = 8
_CONNECT_SECONDS = 5.0
_INFLATED_AT_ONCE = 262_144


class _Closed(Exception):
    """The connection ended before anything of an answer came."""


class AsyncConnectionPool:
    """The connections to one node, kept alive, for one event loop. At most `most` exchanges are
    under way at a time, shared fairly by holder.
    """

    def __init__(self, url: str, *, most: int, largest_answer: int = LARGEST_ANSWER) -> None:
        self.largest_answer = largest_answer
        self._requests = Requests(url, HEADERS)
        self._idle: list[_Connection] = []
        self._turns = FairLimit(most)

    async def post(self, body: bytes, *, seconds: float, holder: Hashable = None) -> "Answer":
        """The node's answer: whole, or with its first HELD bytes; `close` it. The seconds are those
        in which the node is waited for. Raises NodeCallFailed.
        """
        if not self._turns.take_now(holder):
            try:
                await self._turns.take(holder)
            except LimitReached:
                raise Busy from None
        try:
            connection, left = await self._exchange(body, seconds)
        except BaseException:
            self._turns.give_back(holder)
            raise
        return Answer(self, connection, holder, left)

    async def _exchange(self, body: bytes, seconds: float) -> "tuple[_Connection, float]":
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        try:
            address, request = self._requests.address, self._requests.with_body(body)
        except BadAddress:
            raise Unreachable from None
        while True:
            connection = self._idle.pop() if self._idle else None
            is_kept = connection is not None
            if connection is None:
                connection = await self._connect(address, deadline - loop.time())
            connection.send(request)
            try:
                await connection.wait(HELD, deadline - loop.time())
            except _Closed:
                # A node may close a connection that was idle for long just as we write: a new one.
                if is_kept:
                    continue
                raise Unreachable from None
            except BaseException:
                connection.abort()
                raise
            return connection, deadline - loop.time()

    async def _connect(self, address: Address, left: float) -> "_Connection":
        loop = asyncio.get_running_loop()
        tls = shared_tls_context() if address.tls else None
        try:
            async with asyncio.timeout(min(left, _CONNECT_SECONDS)):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self),
                    address.host,
                    address.port,
                    ssl=tls,
                    server_hostname=address.host if tls else None,
                )
        except TimeoutError:
            raise (TimedOut if left <= _CONNECT_SECONDS else Unreachable) from None
        except OSError:
            raise Unreachable from None
        return connection

    def give_back(self, connection: "_Connection", holder: Hashable) -> None:
        """The exchange is over: the connection is kept if its answer was read to its end."""
        if connection.is_whole and connection.keeps and connection.is_open:
            self._idle.append(connection)
        else:
            connection.abort()
        self._turns.give_back(holder)

    def lost(self, connection: "_Connection") -> None:
        if connection in self._idle:
            self._idle.remove(connection)


class Answer:
    """A node's answer, for who posted: `take_whole`, else `more` until its end; then `close`."""

    __slots__ = (
        *("_connection", "_holder", "_inflated_bytes", "_is_closed", "_left", "_pool", "_unzip"),
        "status",
    )

    def __init__(
        self, pool: AsyncConnectionPool, connection: "_Connection", holder: Hashable, left: float
    ) -> None:
        self._pool = pool
        self._connection = connection
        self._holder = holder
        self._left = left
        self._unzip = zlib.decompressobj(16 + zlib.MAX_WBITS) if connection.is_zipped else None
        self._inflated_bytes = 0
        self._is_closed = False
        self.status = connection.status

    def take_whole(self) -> bytes | None:
        """All of it where it has come, and is not compressed; else None, and `more` has it."""
        connection = self._connection
        return connection.take() if connection.is_whole and self._unzip is None else None

    async def more(self) -> bytes:
        """The next bytes, b"" behind the last. Raises NodeCallFailed."""
        while True:
            piece = await self._next()
            if self._unzip is None or not piece:
                return piece
            found = self._inflated(piece)
            if found:
                return found

    async def _next(self) -> bytes:
        connection = self._connection
        if self._unzip is not None and self._unzip.unconsumed_tail:
            return self._unzip.unconsumed_tail
        if not connection.held and not connection.is_whole:
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                await connection.wait(1, self._left)
            except _Closed:
                raise Unreachable from None
            self._left -= loop.time() - began
        piece = connection.take()
        if not piece and self._unzip is not None and not self._unzip.eof:
            raise Unreachable
        return piece

    def _inflated(self, piece: bytes) -> bytes:
        assert self._unzip is not None
        try:
            found = self._unzip.decompress(piece, _INFLATED_AT_ONCE)
        except zlib.error:
            raise Unreachable from None
        self._inflated_bytes += len(found)
        if self._inflated_bytes > self._pool.largest_answer:
            raise AnswerTooLarge
        if self._unzip.unused_data:
            raise Unreachable
        return found

    def close(self) -> None:
        """Gives the connection back; ends it where the answer was not read to its end."""
        if not self._is_closed:
            self._is_closed = True
            self._pool.give_back(self._connection, self._holder)


class _Connection(asyncio.Protocol):
    """One connection to the node, and the one answer that is read from it."""

    def __init__(self, pool: AsyncConnectionPool) -> None:
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._wanted = 0
        self._is_paused = False
        self.is_whole = True

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def send(self, request: bytes) -> None:
        """Begins an exchange."""
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._total = self._head_bytes = self._headers = self._interim = 0
        self._has_length = self._has_head = self._began = False
        self._failure: Exception | None = None
        self.held = self.status = 0
        self.is_whole = self.keeps = self.is_zipped = False
        if self._transport is None or self._transport.is_closing():
            self._failure = _Closed()
            return
        self._resume()
        self._transport.write(request)

    async def wait(self, wanted: int, seconds: float) -> None:
        """Until so many bytes are held or the answer is whole. Raises NodeCallFailed, _Closed."""
        if self._failure is None and not self.is_whole and self.held < wanted:
            loop = asyncio.get_running_loop()
            self._wanted = wanted
            waiter = self._waiter = loop.create_future()
            timer = loop.call_later(max(0.0, seconds), self._fail, TimedOut())
            try:
                await waiter
            finally:
                timer.cancel()
                self._waiter = None
        if self._failure is not None:
            raise self._failure

    def take(self) -> bytes:
        """What is held."""
        pieces = self._pieces
        found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self.held = 0
        self._resume()
        return found

    def _resume(self) -> None:
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none of its subclasses

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if parser is None or self.is_whole or self._failure is not None:
            self.keeps = False
            self.abort()  # it speaks unasked
            return
        self._began = True
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.is_whole:
                self._fail(Unreachable())
            self.keeps = False
        if not self._has_head and self._head_bytes > _LARGEST_HEAD:
            self._fail(Unreachable())
        if self.is_whole or self.held >= self._wanted:
            self._wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        if self._headers > _MOST_HEADERS:
            self._fail(Unreachable())
        name = name.lower()
        if name == b"content-length":
            self._has_length = True
            if value.isdigit() and int(value[:20]) > self._pool.largest_answer:
                self._fail(AnswerTooLarge())
        elif name == b"transfer-encoding":
            self._has_length = True
        elif name == b"content-encoding" and value.strip().lower() != b"identity":
            self.is_zipped = value.strip().lower() in (b"gzip", b"x-gzip")
            if not self.is_zipped:
                self._fail(Unreachable())

    def on_headers_complete(self) -> None:
        parser = self._parser
        assert parser is not None
        if self.is_whole:
            return
        self.status = parser.get_status_code()
        if self.status < 200:  # it only announces the one that follows
            self._interim += 1
            self._has_length = False
            if self._interim > _MOST_INTERIM or self.status == 101:
                self._fail(Unreachable())
            return
        self._has_head = True
        self.keeps = parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        if self.is_whole:
            return
        self._pieces.append(piece)
        self.held += len(piece)
        self._total += len(piece)
        if self._total > self._pool.largest_answer:
            self._fail(AnswerTooLarge())
        elif self.held > _AHEAD and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_begin(self) -> None:
        if self.is_whole:
            self.keeps = False  # more than was asked for

    def on_message_complete(self) -> None:
        if self._has_head and self._failure is None:
            self.is_whole = True

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._pool.lost(self)
        if self.is_whole or self._parser is None:
            return
        if self._has_head and not self._has_length and error is None and self._failure is None:
            # As long as the connection lasts.
            self.is_whole, self.keeps = True, False
            self._wake()
        else:
            self._fail(Unreachable() if self._began else _Closed())

    def _fail(self, failure: Exception) -> None:
        if self._failure is None and not self.is_whole:
            self._failure = failure
            self.abort()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


_pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncConnectionPool]]" = (
    WeakKeyDictionary()
)


def async_pool_for(url: str, *, most: int) -> AsyncConnectionPool:
    """The running loop's way to the node."""
    of_loop = _pools.setdefault(asyncio.get_running_loop(), {})
    pool = of_loop.get(url)
    if pool is None:
        pool = of_loop[url] = AsyncConnectionPool(url, most=most)
    return pool
