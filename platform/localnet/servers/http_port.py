"""A port that speaks HTTP, by the web server: each request is answered on the loop, at once."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from webserver.connections import Connection
from webserver.limits import Limits
from webserver.requests import Request
from webserver.responses import Headers, Response
from webserver.worker import Worker

log = logging.getLogger(__name__)

_BACKLOG = 1_024
_CONNECTIONS = 16_384
JSON = ("Content-Type", "application/json; charset=utf-8")


class Refusal(Exception):
    """A request that is not answered: its status, and text."""

    def __init__(self, status: int, text: str = "", headers: Headers = ()) -> None:
        super().__init__(text)
        self.response = plain(status, text, headers)


def plain(status: int, text: str, headers: Headers = ()) -> Response:
    """A response in plain text."""
    kind = ("Content-Type", "text/plain; charset=utf-8")
    return Response(status, [kind, *headers], [text.encode()])


@asynccontextmanager
async def listening(
    answer: Callable[[Request], Response], host: str, port: int, *, max_body: int = 1_048_576
) -> AsyncIterator[int]:
    """Listens while inside, and gives the port, which port 0 leaves open; OSError where it is
    taken. `answer` may raise Refusal.
    """

    def at_once(request: Request, _connection: Connection) -> Response:
        try:
            return answer(request)
        except Refusal as refusal:
            return refusal.response
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return plain(500, "500 Internal Server Error\n")

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # Every client is this machine's own.
    limits = Limits(
        connections=_CONNECTIONS, body=max_body, bodies=1 << 30, is_proxy=lambda _address: True
    )
    worker = Worker(limits=limits, on_loop=at_once)
    serving = asyncio.create_task(worker.serve([listener]))
    try:
        yield int(listener.getsockname()[1])
    finally:
        await asyncio.sleep(0)  # it may not have begun
        worker.stop()
        await serving


def require_method(request: Request, name: str) -> None:
    """Raises the refusal of another method."""
    if request.method != name:
        raise Refusal(405, "405: Method Not Allowed", [("Allow", name)])
