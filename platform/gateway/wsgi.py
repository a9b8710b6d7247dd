"""The WSGI handler: Django's own, with a shorter path for endpoints."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import close_old_connections

from columns.raw_queries import close_lost_connection
from gateway.answers import Answer
from gateway.forwarded_calls import HandedOn
from gateway.middleware import HostMiddleware
from gateway.routes import endpoint_at, is_page, wants_socket
from gateway.views import EventStream, Switching
from webserver.requests import CONTINUE, LATER, SENT, UPGRADE

_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


class EndpointsFirst(WSGIHandler):
    """Passes a request for an Endpoint to HostMiddleware directly and its chunks to the server as a
    list; all others are Django's.

    Left out: the signals of a request's start and end. Their listeners close connections, which is
    done here, and reset URLs, caches and the query log, which endpoints do not use.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first = HostMiddleware(self.get_response)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        close_lost_connection()
        if not environ.get("SCRIPT_NAME"):
            match = endpoint_at(environ.get("PATH_INFO", ""))
            if match is not None and (
                not is_page(match.func, environ["REQUEST_METHOD"])
                or wants_socket(match.func, environ)
            ):
                return self._call(environ, start_response)
        return super().__call__(environ, start_response)

    def _call(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            return self._answer(environ, start_response)
        finally:
            close_old_connections()

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        response = self._first(WSGIRequest(environ))
        if isinstance(response, HandedOn):
            environ[LATER] = response.later
            start_response("200 OK", [])  # the loop's response has its own
            return []
        start_response(_STATUS_LINES[response.status_code], list(response.headers.items()))
        if isinstance(response, Answer):
            if response.sent is not None:
                environ[SENT] = response.sent
            return response.chunks
        if isinstance(response, EventStream):
            environ[CONTINUE], environ[SENT] = response.proceed, response.ended
            return []
        if isinstance(response, Switching):
            environ[UPGRADE] = response.upgrade
            return []
        raise TypeError(f"an endpoint answered {type(response).__name__}")
