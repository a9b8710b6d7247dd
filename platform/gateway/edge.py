"""What the web server decides on its event loop: how it refuses what is no whole request, which
threads answer a request, and what is answered whatever the threads do.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.db import connections

from gateway.addresses import client_address
from gateway.answers import Answer
from gateway.paths import endpoints
from gateway.refusals import (
    BodyTooLarge,
    ContentTypeUnsupported,
    HeadTooLarge,
    HostRequired,
    Overloaded,
    Refusal,
    RequestFailed,
    RequestMalformed,
    RequestTimedOut,
    TooManyAtOnce,
    TooManyConnections,
    body_of,
    headers_of,
)
from gateway.request_ids import request_id
from gateway.routes import endpoint_at, is_page
from gateway.terms import Face
from webserver.lanes import Lane
from webserver.requests import Request
from webserver.responses import Headers, Refused, Response

_ALIVE = b'{"status": "ok"}'
_ON_THE_LOOP = frozenset({"/healthz", "/priority/ping"})
_ADDRESS = ("127.0.0.1", 0)
# The node is asked eight things at a time (upstream.passage); the others say that it is busy.
_NODE_THREADS = 10
_PAGE_THREADS = 4

_REFUSALS: dict[Refused, Callable[[], Refusal]] = {
    Refused.MALFORMED: RequestMalformed,
    Refused.HOST_REQUIRED: HostRequired,
    Refused.HEAD_TIMEOUT: RequestTimedOut,
    Refused.BODY_TIMEOUT: RequestTimedOut,
    Refused.BODY_TOO_LARGE: lambda: BodyTooLarge(settings.MAX_BODY, None),
    Refused.MULTIPART: lambda: ContentTypeUnsupported("multipart"),
    Refused.HEAD_TOO_LARGE: HeadTooLarge,
    Refused.TOO_MANY_CONNECTIONS: TooManyConnections,
    Refused.TOO_MANY_AT_ONCE: TooManyAtOnce,
    Refused.OVERLOADED: Overloaded,
    Refused.FAILED: RequestFailed,
}


def refuse(why: Refused, request: Request | None) -> tuple[int, Headers, bytes]:
    """A refusal in the form of every other: a JSON-RPC error for a POST, else `{"error": …}`."""
    error = _REFUSALS[why]()
    is_post = request is not None and request.method == "POST"
    content_type, body = body_of(error, Face.JSON_RPC if is_post else Face.WORD)
    told = None if request is None else request.header(b"x-request-id")
    answer = Answer(
        [body],
        request_id=request_id(None if told is None else told.decode("latin-1")),
        status=error.status,
        content_type=content_type,
        headers=headers_of(error),
    )
    return error.status, list(answer.headers.items()), body


def at_once(application: Any) -> Callable[[Request], Response | None]:
    """What of an application's responses are made on the loop: those that wait for nothing."""

    def answer(request: Request) -> Response | None:
        if request.path not in _ON_THE_LOOP or request.method not in ("GET", "HEAD"):
            return None
        if request.path == "/healthz":
            headers = [
                ("Content-Type", "application/json"),
                ("X-Content-Type-Options", "nosniff"),
                ("Cache-Control", "no-store"),
            ]
            return Response(200, headers, [_ALIVE])
        head: list[Any] = []

        def start_response(status: str, headers: Any, _exc_info: Any = None) -> None:
            head[:] = [int(status[:3]), headers]

        chunks = application(request.environ(_ADDRESS, _ADDRESS), start_response)
        return Response(head[0], head[1], list(chunks))

    return answer


class Lanes:
    """Threads for calls that are quick, for dear ones, for those that wait for the node that is
    followed, and for pages: none of these can take the threads of another.
    """

    def __init__(self) -> None:
        # Each thread keeps a database connection of its own.
        close = connections.close_all
        self.quick = Lane(settings.WEB_THREADS, waiting=1_000, at_end=close)
        self.dear = Lane(
            settings.DEAR_CALLS,
            of_holder=settings.DEAR_CALLS_OF_KEY,
            waiting=512,
            waiting_of_holder=settings.DEAR_CALLS_WAITING,
            at_end=close,
        )
        self.node = Lane(
            _NODE_THREADS,
            of_holder=_NODE_THREADS - 2,
            waiting=512,
            waiting_of_holder=settings.DEAR_CALLS_WAITING,
            at_end=close,
        )
        self.pages = Lane(_PAGE_THREADS, waiting=256, at_end=close)

    def of(self, request: Request, address: str) -> tuple[Lane, bytes]:
        """The threads that answer the request, and who is asking, by key or address."""
        path = request.path
        if "%" in path:
            path = unquote_to_bytes(path).decode("latin-1")
        match = endpoint_at(path)
        if match is None or is_page(match.func, request.method):
            return self.pages, b""
        if request.method != "POST":
            return self.quick, b""
        dear, asking = _patterns()
        if path == "/" or asking.search(request.body):
            return self.node, _holder(request, address)
        if dear.search(request.body):
            return self.dear, _holder(request, address)
        return self.quick, b""


def _holder(request: Request, address: str) -> bytes:
    """Whose calls take turns with those of others: the key as it came, or the client's address."""
    key = request.header(b"authorization")
    if key or b"api_key" in request.query.encode():
        return key or request.query.encode("latin-1")
    forwarded = request.header(b"x-forwarded-for") or b""
    meta = {"REMOTE_ADDR": address, "HTTP_X_FORWARDED_FOR": forwarded.decode("latin-1")}
    return client_address(meta).encode()


@cache
def _patterns() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Two that find in a body the name of a dear method (or an escape, which may be part of one),
    and of a method that asks the node.
    """
    tables = [view.methods for _path, view in endpoints() if getattr(view, "methods", None)]
    methods = [method for table in tables for method in table]
    dear = {re.escape(each.name) for each in methods if each.is_dear}
    asking = {re.escape(each.name) for each in methods if each.asks_node}
    return (
        re.compile(rb'"(?:%b)"|\\u' % "|".join(sorted(dear)).encode()),
        re.compile(rb'"(?:%b)"' % "|".join(sorted(asking)).encode()),
    )
