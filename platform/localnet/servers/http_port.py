"""A port that speaks HTTP, by aiohttp's own server: its routes and middlewares would cost more than
most answers here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def listening(
    answer: Answer, host: str, port: int, *, max_body: int = 1_048_576, goodbye: float = 1.0
) -> AsyncIterator[int]:
    """Listens while inside, and gives the port, which port 0 leaves open; OSError where it is
    taken. In the end, calls have `goodbye` seconds.
    """
    loop = asyncio.get_running_loop()

    def request(
        message: Any, payload: Any, protocol: Any, writer: Any, task: Any
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, loop, client_max_size=max_body
        )

    server = web.Server(answer, request_factory=request, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=goodbye)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, reuse_address=True).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def require_method(request: web.BaseRequest, name: str) -> None:
    """Raises the refusal of another method."""
    if request.method != name:
        raise web.HTTPMethodNotAllowed(request.method, [name])
