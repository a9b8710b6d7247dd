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
# Answers on the loop, at once and without waiting for anything, or None: then a thread does.
AtOnce = Callable[[Request], Response | None]
# Answers by a coroutine on the loop, given the connection too; None: a thread runs the application,
# which the coroutine may find as well.
OnLoop = Callable[[Request, "Connection"], Coroutine[Any, Any, Response | None] | None]


def nothing_at_once(_request: Request) -> Response | None:
    return None


def nothing_on_loop(_request: Request, _connection: "Connection") -> None:
    return None
