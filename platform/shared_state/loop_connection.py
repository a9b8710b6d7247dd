"""One Redis connection of an event loop that is shared by all who await it.

redis-py's asynchronous connections cost twice as much for each command, its client three times
(docs/decisions/own-code.md). So the options are read by redis-py, and bytes by hiredis.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hiredis
import redis
from redis.asyncio import Redis, SSLConnection
from redis.exceptions import InvalidResponse, NoScriptError

from shared_state.script_socket import command


@dataclass(slots=True)
class Waiting:
    """A command without a reply yet; what waits for it may have ended. `since` is monotonic."""

    reply: "asyncio.Future[Any]"
    since: float
    is_patient: bool


class LoopConnection(asyncio.Protocol):
    """Connects as the client does. Commands are pipelined: those of one turn of the loop are sent
    together, and replies are dealt out in their order. `on_reply` is called before each.
    """

    def __init__(self, client: Redis, on_reply: Callable[[], None] = lambda: None) -> None:
        self.waiting: deque[Waiting] = deque()
        self.heard_at = 0.0
        self.is_open = False
        self._client = client
        self._on_reply = on_reply
        self._loop: asyncio.AbstractEventLoop  # of `open`: to ask for it is a system call
        self._transport: asyncio.WriteTransport | None = None
        self._reader = _new_reader()
        self._unsent = bytearray()

    async def open(self) -> None:
        """Waits as long as the client does. Raises redis.RedisError."""
        self._loop = asyncio.get_running_loop()
        options = self._client.connection_pool.connection_kwargs
        try:
            async with asyncio.timeout(options.get("socket_connect_timeout")):
                self._transport = await _connected(self, self._client)
                for each in _greeting(options):
                    await self._send(each)
        except TimeoutError:
            self.close()
            raise redis.TimeoutError("Timeout connecting to server") from None
        except OSError as error:
            self.close()
            raise redis.ConnectionError(str(error)) from None
        except BaseException:
            self.close()
            raise
        self.is_open = True

    async def send(self, message: bytes, *, is_patient: bool = False) -> Any:
        """The reply, with bytes for strings. Raises redis.RedisError; the command may have run
        unless it is a ResponseError.
        """
        if not self.is_open:
            raise redis.ConnectionError("there is no connection to Redis")
        return await self._send(message, is_patient)

    async def send_within(self, seconds: float, message: bytes) -> Any:
        """As `send`, after `open` if there is no connection, and without one if no reply comes in
        time.
        """
        try:
            async with asyncio.timeout(seconds):
                if not self.is_open:
                    await self.open()
                return await self._send(message)
        except TimeoutError:
            self.close()
            raise redis.TimeoutError("Redis did not answer in time") from None

    def close(self, why: str = "the connection was closed") -> None:
        """Ends the connection: all who wait get a redis.ConnectionError."""
        transport, self._transport = self._transport, None
        waiting, self.waiting = self.waiting, deque()
        self.is_open = False
        self._unsent.clear()
        self._reader = _new_reader()
        if transport is not None:
            transport.set_protocol(asyncio.Protocol())
            transport.abort()
        for each in waiting:
            if not each.reply.done():
                each.reply.set_exception(redis.ConnectionError(why))

    def data_received(self, data: bytes) -> None:
        self.heard_at = time.monotonic()
        self._on_reply()
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not False:
                waits = self.waiting.popleft().reply
                if waits.done():
                    continue
                if isinstance(reply, redis.ResponseError):
                    waits.set_exception(reply)
                else:
                    waits.set_result(reply)
        except (IndexError, InvalidResponse) as error:
            self.close(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        self.close(str(error or "Redis closed the connection"))

    def _send(self, message: bytes, is_patient: bool = False) -> "asyncio.Future[Any]":
        reply = self._loop.create_future()
        self.waiting.append(Waiting(reply, time.monotonic(), is_patient))
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent += message
        return reply

    def _flush(self) -> None:
        """Sends the commands of one turn of the loop: a write for each would cost twice as much."""
        if self._transport is not None and self._unsent:
            self._transport.write(bytes(self._unsent))
            self._unsent.clear()


def _new_reader() -> hiredis.Reader:
    return hiredis.Reader(protocolError=InvalidResponse, replyError=_refusal)


def _refusal(text: str) -> redis.ResponseError:
    return (NoScriptError if text.startswith("NOSCRIPT") else redis.ResponseError)(text)


async def _connected(protocol: asyncio.Protocol, client: Redis) -> asyncio.WriteTransport:
    loop, pool = asyncio.get_running_loop(), client.connection_pool
    options = pool.connection_kwargs
    if "path" in options:
        return (await loop.create_unix_connection(lambda: protocol, options["path"]))[0]
    tls = None
    if issubclass(pool.connection_class, SSLConnection):
        tls = pool.connection_class(**options).ssl_context.get()
    address = options.get("host", "localhost"), int(options.get("port", 6_379))
    return (await loop.create_connection(lambda: protocol, *address, ssl=tls))[0]


def _greeting(options: dict[str, Any]) -> list[bytes]:
    """The commands of a new connection."""
    found = []
    user, password = options.get("username"), options.get("password") or ""
    if user or password:
        found.append(command("AUTH", user, password) if user else command("AUTH", password))
    if options.get("client_name"):
        found.append(command("CLIENT", "SETNAME", options["client_name"]))
    if options.get("db"):
        found.append(command("SELECT", options["db"]))
    return found
