"""The WSGI handler: Django's own, with a short way in and out for calls of RPC endpoints."""

import select
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import close_old_connections, connection
from django.urls import Resolver404, get_resolver

from gateway.answers import Answer
from gateway.bodies import drop_body
from gateway.endpoint import RpcEndpoint
from gateway.middleware import HostMiddleware

_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


class RpcFirst(WSGIHandler):
    """A POST to an RpcEndpoint, and a GET to what gateway.reading made, goes to HostMiddleware at
    once and its chunks to the server as a list; all else is Django's.

    What is left out: the signals of a request's start and end (their listeners look after
    connections, which is done here, after URLs and caches, which no endpoint touches, and after
    the query log, which is bounded) and the response as an iterator, which servers fetch chunk by
    chunk from another thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self._door = HostMiddleware(self.get_response)
        self._paths: dict[str, set[str]] = {"POST": set(), "GET": set()}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        _close_lost_connection()
        verb = environ["REQUEST_METHOD"]
        if verb in self._paths and not environ.get("SCRIPT_NAME"):
            path = environ.get("PATH_INFO", "")
            if path in self._paths[verb] or self._is_short(verb, path):
                return self._call(environ, start_response)
        response = super().__call__(environ, start_response)
        # A streamed file comes in the server's own wrapper, without a status.
        if getattr(response, "status_code", 200) >= 400:
            drop_body(environ)
        return response

    def _call(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            response = self._door(WSGIRequest(environ))
        finally:
            close_old_connections()
        assert isinstance(response, Answer)
        if response.status_code >= 400:
            drop_body(environ)
        start_response(_STATUS_LINES[response.status_code], list(response.headers._store.values()))
        return response.chunks

    def _is_short(self, verb: str, path: str) -> bool:
        try:
            match = get_resolver().resolve(path)
        except Resolver404:
            return False
        if match.kwargs:  # as many paths as there are values: not to be remembered
            return False
        if verb == "GET":
            short = hasattr(match.func, "is_short")
        else:
            view_class = getattr(match.func, "cls", None)
            short = view_class is not None and issubclass(view_class, RpcEndpoint)
        if short:
            self._paths[verb].add(path)
        return short


def _close_lost_connection() -> None:
    """Closes the thread's database connection when the server has, so that a query opens another.

    An idle connection has something to read only when the server ended it: after a restart every
    thread would fail one request. A look at the socket costs a microsecond, a query a hundred.
    """
    raw = connection.connection
    if raw is None or connection.in_atomic_block:
        return
    if not raw.closed:
        idle = select.poll()
        idle.register(raw.fileno(), select.POLLIN)
        if not idle.poll(0):
            return
    connection.close()
