"""The interface between a worker and the application that it serves, as functions."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from webserver.lanes import Lane
from webserver.requests import Request
from webserver.responses import Response

# WSGI's.
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
# The threads that answer a request, and for whom.
LaneOf = Callable[[Request, str], tuple[Lane, bytes]]
# Answers on the loop, at once and without waiting for anything, or None: then a thread does.
AtOnce = Callable[[Request], Response | None]
# Answers on the loop, given the peer's address too; None: a thread does, which the coroutine may
# find as well.
OnLoop = Callable[[Request, tuple[str, int]], Coroutine[Any, Any, Response | None] | None]


def nothing_at_once(_request: Request) -> Response | None:
    return None


def nothing_on_loop(_request: Request, _peer: tuple[str, int]) -> None:
    return None
