"""One Redis connection of an event loop that sends prepared commands, one after the other.

For loops that send hundreds of commands a second: redis-py costs several times as much for each.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

import hiredis
import redis
from redis.asyncio import Redis

from shared_state.redis_connections import connection_of, drop, open_writer
from shared_state.script_socket import command

Words = Sequence[str | bytes | int | float]


class RedisLink(asyncio.Protocol):
    """Connects with the client's settings on the first command. One command at a time."""

    def __init__(self, client: Redis, *, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self._writer: asyncio.StreamWriter | None = None
        self._reader = hiredis.Reader()
        self._answer: asyncio.Future[Any] | None = None
        self._digests: dict[str, str] = {}

    async def ask(self, *words: str | bytes | int | float, seconds: float = 0.0) -> Any:
        """The reply, with bytes for strings; `seconds` extends the timeout. Raises
        redis.RedisError; the command may have run then.
        """
        try:
            async with asyncio.timeout(self._seconds + seconds):
                if self._writer is None:
                    await self._connect()
                reply = await self._exchange(command(*words))
        except BaseException as error:
            # A reply that comes now would be taken for the next command's.
            self.close()
            if isinstance(error, (OSError, hiredis.ProtocolError)):
                raise redis.ConnectionError(str(error) or type(error).__name__) from None
            raise
        if isinstance(reply, hiredis.ReplyError):
            raise redis.ResponseError(str(reply))
        return reply

    async def run(self, script: str, words: Words) -> Any:
        """The result of the script, which takes arguments and no keys. Raises as `ask`."""
        digest = self._digests.get(script)
        if digest is None:
            digest = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
            self._digests[script] = digest
        try:
            return await self.ask("EVALSHA", digest, 0, *words)
        except redis.ResponseError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
            return await self.ask("EVAL", script, 0, *words)

    def close(self) -> None:
        """The next command opens another connection."""
        writer, self._writer = self._writer, None
        if writer is not None:
            drop(writer)
        self._fail(ConnectionResetError("the connection was closed"))

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        try:
            self._reader.feed(data)
            reply = self._reader.gets()
        except hiredis.ProtocolError as error:
            self._fail(error)
            return
        if reply is not False and answer is not None and not answer.done():
            answer.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        self._writer = None
        self._fail(error or ConnectionResetError("Redis closed the connection"))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    async def _exchange(self, message: bytes) -> Any:
        if self._writer is None:
            raise ConnectionResetError("Redis closed the connection")
        self._answer = asyncio.get_running_loop().create_future()
        self._writer.transport.write(message)
        try:
            return await self._answer
        finally:
            self._answer = None

    async def _connect(self) -> None:
        self._reader = hiredis.Reader()
        self._writer = await open_writer(connection_of(self._client.connection_pool), self)
