"""A port that is listened on, its connections, and how they end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress

from grpcserver.bounds import Bounds
from grpcserver.transport import Handler, Http2

_TICK_SECONDS = 2.0
_GOODBYE_SECONDS = 2.0
_BACKLOG = 1_024


async def _nothing() -> None: ...


@asynccontextmanager
async def serving(
    handler: Handler,
    bounds: Bounds,
    host: str,
    port: int,
    *,
    stop: Callable[[], Awaitable[None]] = _nothing,
) -> AsyncIterator[int]:
    """Serves on this address while inside; gives the port, which port 0 leaves open. Raises OSError
    where the address is taken. In the end no new client is taken, `stop` may end calls in its own
    words, and the connections are closed.
    """
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Http2(handler, bounds), host, port, backlog=_BACKLOG)
    ticking = asyncio.create_task(_tick(bounds.connections))
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        ticking.cancel()
        await stop()
        for each in list(bounds.connections):
            each.go_away()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                while bounds.connections:
                    await asyncio.sleep(0.01)


async def _tick(connections: Collection[Http2]) -> None:
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        for each in list(connections):
            each.tick()
