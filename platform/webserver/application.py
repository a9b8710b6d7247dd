"""The interface between a worker and the application that it serves, as functions."""

from collections.abc import Callable, Iterable
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
# The threads that help where the application runs on the loop for a request and would block; None
# where a thread runs it from the beginning.
RunsOnLoop = Callable[[Request], Lane | None]
# Answers in a LoopCall what the application would answer there, given the peer's address too; None:
# the application answers.
AnswerQuickly = Callable[[Request, tuple[str, int]], Response | None]


def nothing_at_once(_request: Request) -> Response | None:
    return None


def never_on_loop(_request: Request) -> Lane | None:
    return None


def nothing_quickly(_request: Request, _peer: tuple[str, int]) -> Response | None:
    return None
