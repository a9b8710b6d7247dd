"""The interface between a worker and the application that it serves, as functions."""

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from webserver.lanes import Lane
from webserver.requests import Request
from webserver.responses import Response

if TYPE_CHECKING:
    from webserver.connections import Connection

# WSGI's.
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
# The threads that answer a request, and for whom.
LaneOf = Callable[[Request, str], tuple[Lane, bytes]]
# Answers on the loop, given the connection too: at once and without waiting for anything, or by a
# coroutine; None: a thread runs the application.
OnLoop = Callable[[Request, "Connection"], Response | Coroutine[Any, Any, Response] | None]

_THREADS, _WAITING = 8, 1_000


def nothing_found(_environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """The application of a server that answers everything on the loop."""
    start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
    return [b"404 Not Found\n"]


def one_lane() -> LaneOf:
    """Eight threads for all requests alike."""
    lane = Lane(_THREADS, waiting=_WAITING)
    return lambda _request, _address: (lane, b"")


def nothing_on_loop(_request: Request, _connection: "Connection") -> None:
    return None
