"""Streaming responses: a coroutine writes to one client as events arrive."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webserver.connections import Connection
    from webserver.worker import Worker

log = logging.getLogger(__name__)

Proceed = Callable[["Stream"], Awaitable[None]]


class Stream:
    """What a coroutine writes to. It is cancelled when the client goes."""

    def __init__(
        self,
        connection: "Connection",
        proceed: Proceed | None,
        ended: Callable[[], None] | None,
        *,
        chunked: bool,
    ) -> None:
        assert proceed is not None
        self._connection = connection
        self._proceed = proceed
        self._ended = ended
        self._chunked = chunked
        self._taken = asyncio.Event()  # for a moment, when what was written is taken
        self._task: asyncio.Task[None] | None = None

    async def write(self, data: bytes) -> None:
        """Sends the bytes, waiting for a client that is behind. Raises ConnectionError."""
        if data:
            if self._chunked:
                data = b"%x\r\n%b\r\n" % (len(data), data)
            connection = self._connection
            if not connection.is_lost:
                connection.transport.write(data)
            while connection.is_paused and not connection.is_lost:
                await self._taken.wait()
            if connection.is_lost:
                raise ConnectionResetError("the client is gone")

    def wake(self) -> None:
        """The client has taken what was written."""
        self._taken.set()
        self._taken.clear()

    def bound_buffer(self, size: int) -> None:
        """Bounds what the system takes for the client."""
        self._connection.bound_buffer(size)

    def abort(self) -> None:
        """Ends the connection at once."""
        self._connection.abort()

    def begin(self, worker: "Worker") -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())
        worker.streams.add(self._task)
        self._task.add_done_callback(worker.streams.discard)

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        connection = self._connection
        is_whole = False
        try:
            await self._proceed(self)
            if self._chunked and not connection.is_lost:
                connection.transport.write(b"0\r\n\r\n")
            is_whole = True
        except (ConnectionError, asyncio.CancelledError):
            pass
        except Exception:
            log.exception("a stream failed")
            connection.abort()
        finally:
            connection.finish_stream(is_whole=is_whole)
            if self._ended is not None:
                self._ended()
