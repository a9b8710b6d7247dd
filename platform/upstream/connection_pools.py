"""Connections to a node, whose JSON-RPC bodies pass unchanged: those of threads, and those of an
event loop, which can stream a response.
"""

import asyncio
from collections.abc import Callable, Hashable
from functools import cache, cached_property
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from upstream.fair_limit import FairLimit, LimitReached
from upstream.http.client import Client
from upstream.http.errors import Busy
from upstream.http.poster import Exchange, Poster

LARGEST_ANSWER = 256 * 1024 * 1024
_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
# A node that hangs must not take every thread of the process with it: so many calls wait for one
# at a time, and the next ones only half a second for their turn.
_OF_THREADS = 8
# An answer up to this size is waited for whole.
HELD = 65_536


@cache
def pool_for(url: str) -> Client:
    """This process's way to the node, for any number of threads."""
    return Client(url, headers=_HEADERS, kept=_OF_THREADS, most=_OF_THREADS)


class AsyncConnectionPool:
    """The connections to one node, kept alive, for one event loop. At most `most` exchanges are
    under way at a time, shared fairly by holder.
    """

    def __init__(self, url: str, *, most: int) -> None:
        self._url = url
        self._most = most
        self._turns = FairLimit(most)

    @cached_property
    def _poster(self) -> Poster:
        parts = urlsplit(self._url)
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return Poster(url, headers=_HEADERS, most_connections=self._most, largest=LARGEST_ANSWER)

    async def post(self, body: bytes, *, seconds: float, holder: Hashable = None) -> "Answer":
        """The node's answer: whole, or with its first HELD bytes; `close` it. The seconds are those
        in which the node is waited for. Raises CALL_FAILURES of upstream.http.errors.
        """
        try:
            await self._turns.take(holder)
        except LimitReached:
            raise Busy from None
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        try:
            exchange = await self._poster.exchange(body, seconds=seconds, wanted=HELD)
        except BaseException:
            self._turns.give_back(holder)
            raise
        return Answer(exchange, deadline - loop.time(), lambda: self._turns.give_back(holder))


class Answer:
    """A node's answer, for who posted: `take_whole`, else `more` until its end; then `close`."""

    __slots__ = ("_exchange", "_give_back", "_left", "status")

    def __init__(self, exchange: Exchange, left: float, give_back: Callable[[], None]) -> None:
        self._exchange = exchange
        self._left = left
        self._give_back: Callable[[], None] | None = give_back
        self.status = exchange.response.status

    def take_whole(self) -> bytes | None:
        """All of it where it has come, and is not compressed; else None, and `more` has it."""
        response = self._exchange.response
        return response.take() if response.is_whole and response.unzip is None else None

    async def more(self) -> bytes:
        """The next bytes, b"" behind the last. Raises FAILURES of upstream.http.errors."""
        response = self._exchange.response
        loop = asyncio.get_running_loop()
        while not (piece := self._exchange.take()) and not response.is_whole:
            began = loop.time()
            await self._exchange.more(self._left)
            self._left -= loop.time() - began
        return piece

    def close(self) -> None:
        """Ends the exchange; its connection is kept if the answer has come whole."""
        if self._give_back is not None:
            if not self._exchange.response.is_whole:
                self._exchange.cancel()
            self._give_back()
            self._give_back = None


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
