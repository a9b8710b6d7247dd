"""Decisions of the web server's event loop: how to refuse an invalid request, which threads answer
a request, and what is answered without threads.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connections

from access.errors import KeyRefused
from columns import raw_queries
from columns.loop_queries import LoopQueries
from columns.raw_queries import close_lost_connection
from eventloop.calls import require_thread
from gateway.addresses import client_address
from gateway.answers import Answer
from gateway.authentication import caller_of
from gateway.bodies import larger_of, may_send_large
from gateway.health_views import CORS
from gateway.hosts import ALL_IN_ONE
from gateway.paths import endpoints
from gateway.permissions import require_standing, right_missing
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
    format_of,
    headers_of,
)
from gateway.request_ids import request_id
from gateway.routes import endpoint_at, is_page
from jsonrpc.methods import Method
from shared_state import script_socket
from shared_state.loop_scripts import LoopScripts
from webserver.lanes import Lane
from webserver.large_bodies import LargeBodies
from webserver.requests import Request
from webserver.responses import Headers, Refused, Response

# Path → who sends a body there, by the request's environ: None for one who may not.
Uploads = Mapping[str, Callable[[Mapping[str, Any]], bytes | None]]

_ON_THE_LOOP = frozenset({"/healthz", "/priority/ping"})
_ADDRESS = ("127.0.0.1", 0)
# The node gets at most eight requests at a time (upstream.connection_pool); further threads
# answer that it is busy.
_NODE_THREADS = 10
_PAGE_THREADS = 4
# Bytes of a body that is read on the loop.
_MOST_ON_LOOP = 4_096

_REFUSALS: dict[Refused, Callable[[], Refusal]] = {
    Refused.MALFORMED: RequestMalformed,
    Refused.HOST_REQUIRED: HostRequired,
    Refused.HEAD_TIMEOUT: RequestTimedOut,
    Refused.BODY_TIMEOUT: RequestTimedOut,
    Refused.MULTIPART: lambda: ContentTypeUnsupported("multipart"),
    Refused.HEAD_TOO_LARGE: HeadTooLarge,
    Refused.TOO_MANY_CONNECTIONS: TooManyConnections,
    Refused.TOO_MANY_AT_ONCE: TooManyAtOnce,
    Refused.OVERLOADED: Overloaded,
    Refused.FAILED: RequestFailed,
}


def refuse(why: Refused, request: Request | None) -> tuple[int, Headers, bytes]:
    """A refusal in the form of every other: a JSON-RPC error for a POST, else `{"error": …}`."""
    if why is Refused.BODY_TOO_LARGE:
        error: Refusal = _too_large(request)
    else:
        error = _REFUSALS[why]()
    method, path = ("", "") if request is None else (request.method, request.path)
    content_type, body = body_of(error, format_of(method, path))
    sent_id = None if request is None else request.header(b"x-request-id")
    answer = Answer(
        [body],
        request_id=request_id(None if sent_id is None else sent_id.decode("latin-1")),
        status=error.status,
        content_type=content_type,
        headers=headers_of(error),
    )
    return error.status, list(answer.headers.items()), body


def _too_large(request: Request | None) -> BodyTooLarge:
    view = None if request is None else _view_of(request)
    larger = None if view is None else larger_of(view.policy)
    found = None if request is None or request.length < 0 else request.length
    return BodyTooLarge(settings.MAX_BODY, found, larger)


def _view_of(request: Request) -> Any:
    """The endpoint at the request's path; None if there is none."""
    match = endpoint_at(request.decoded_path)
    return None if match is None else match.func


def at_once(application: Any) -> Callable[[Request], Response | None]:
    """Answers the paths that never wait on the loop itself; None for other requests."""
    alive = json.dumps({"status": "ok", "version": settings.VERSION}).encode()

    def answer(request: Request) -> Response | None:
        if request.path not in _ON_THE_LOOP or request.method not in ("GET", "HEAD"):
            return None
        if request.path == "/healthz":
            headers = [
                ("Content-Type", "application/json"),
                ("X-Content-Type-Options", "nosniff"),
                ("Cache-Control", "no-store"),
                *CORS.items(),
            ]
            return Response(200, headers, [alive])
        head: list[Any] = []

        def start_response(status: str, headers: Any, _exc_info: Any = None) -> None:
            head[:] = [int(status[:3]), headers]

        chunks = application(request.environ(_ADDRESS, _ADDRESS), start_response)
        return Response(head[0], head[1], list(chunks))

    return answer


def begin_on_loop(loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Prepares the loop's thread for calls: queries and scripts use connections of the loop, and
    other connections are refused. Returns a function that ends this.
    """
    queries, scripts = LoopQueries(loop), LoopScripts(loop)
    raw_queries.on_loop = queries.execute
    script_socket.on_loop = scripts.ask
    create = connections.create_connection

    def in_thread_only(alias: str) -> Any:
        """A call has no connection of Django's in its context, and may not open one."""
        require_thread()
        return create(alias)

    connections.create_connection = in_thread_only  # type: ignore[method-assign]

    def end() -> None:
        raw_queries.on_loop = script_socket.on_loop = None
        connections.create_connection = create  # type: ignore[method-assign]
        queries.close()
        scripts.close()

    return end


class Lanes:
    """Separate threads for quick calls, for expensive ones, for those that wait for the followed
    node, and for pages, so that none of these can block another.
    """

    def __init__(self) -> None:
        # Each thread keeps a database connection of its own.
        close = connections.close_all
        self.quick = Lane(settings.WEB_THREADS, waiting=1_000, at_end=close)
        self.expensive = Lane(
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

    def helping(self, request: Request) -> Lane | None:
        """The threads that help the event loop if the body seems to be a single call of a quick
        method, or one to forward; the endpoint checks again.
        """
        body = request.body
        if request.method != "POST" or len(body) > _MOST_ON_LOOP or body.lstrip()[:1] != b"{":
            return None
        if request.path == "/" and is_handed_on(request):
            return None if _threads_methods().search(body) else self.quick
        return self.quick if _quick_methods().search(body) else None

    def of(self, request: Request, address: str) -> tuple[Lane, bytes]:
        """The threads that answer the request, and its caller: the key or address."""
        path = request.decoded_path
        match = endpoint_at(path)
        if request.upgrades:
            return self.quick, b""
        if match is None or is_page(match.func, request.method):
            return self.pages, b""
        if request.method != "POST":
            if getattr(getattr(match.func, "cls", None), "asks_node", False):
                return self.node, _holder(request, address)
            return self.quick, b""
        if len(request.body) > settings.MAX_BODY:
            # Only expensive methods take it, and searching all of it would block the loop.
            return self.expensive, _holder(request, address)
        expensive, asking = _patterns()
        if asking.search(request.body) or (path == "/" and not is_handed_on(request)):
            return self.node, _holder(request, address)
        if expensive.search(request.body):
            return self.expensive, _holder(request, address)
        return self.quick, b""


def is_handed_on(request: Request) -> bool:
    """Whether a POST of `/` is a single call, which is forwarded on the loop if the method is not
    ours. An escape in it may be part of the name of a method that waits for the node.
    """
    return request.body.lstrip()[:1] == b"{" and b"\\u" not in request.body


def warm_up() -> None:
    """Compiles the patterns before the first request."""
    _patterns(), _quick_methods(), _threads_methods()


def large_bodies(lanes: Lanes, uploads: Uploads) -> LargeBodies:
    """Bodies above MAX_BODY of keys that may send them, and of users who upload to one of these
    paths: at most two at a time of one sender and four of all. A call needs about eight times its
    body's bytes while it runs.
    """

    def serves(request: Request) -> bool:
        if request.method == "POST" and request.decoded_path in uploads:
            return True
        return _takes_large(request)

    def sender_of(request: Request, address: str) -> bytes | None:
        find = uploads.get(request.decoded_path)
        if find is None:
            return _sender_of_large(request, address)
        close_lost_connection()
        try:
            return find(request.environ((address, 0), _ADDRESS))
        finally:
            close_old_connections()

    return LargeBodies(
        maximum=settings.MAX_LARGE_BODY,
        of_holder=2 * settings.MAX_LARGE_BODY,
        of_all=4 * settings.MAX_LARGE_BODY,
        lane=lanes.quick,
        serves=serves,
        holder_of=sender_of,
    )


def _takes_large(request: Request) -> bool:
    view = _view_of(request)
    return request.method == "POST" and view is not None and bool(view.policy.large_scope)


def _sender_of_large(request: Request, address: str) -> bytes | None:
    """In a thread: the key that sends the body; None if it may not send one."""
    close_lost_connection()
    try:
        meta = request.environ((address, 0), _ADDRESS)
        caller = caller_of(meta, now=datetime.now(UTC))
        view = _view_of(request)
        require_standing(ALL_IN_ONE, caller, view.policy, client_address(meta))
        methods = [method.name for method in view.methods if method.takes_large]
        refusals = [right_missing(caller, view.policy, name) for name in methods]
    except (KeyRefused, Refusal):
        return None
    finally:
        close_old_connections()
    may = may_send_large(caller, view.policy) and None in refusals
    return b"%d" % caller.key_id if may and caller.key_id is not None else None


def _holder(request: Request, address: str) -> bytes:
    """The caller for fair turns: the key as sent, or the client's address."""
    key = request.header(b"authorization")
    if key or b"api_key" in request.query.encode():
        return key or request.query.encode("latin-1")
    return client_of(request, address).encode()


def client_of(request: Request, address: str) -> str:
    """The address of the request's client, which a trusted proxy at `address` names."""
    try:
        return client_address(request.environ((address, 0), _ADDRESS))
    except Refusal:  # the application refuses it
        return address


@cache
def _quick_methods() -> re.Pattern[bytes]:
    return _naming(each for each in _methods() if each.is_quick)


@cache
def _threads_methods() -> re.Pattern[bytes]:
    return _naming(each for each in _methods() if not each.is_quick)


@cache
def _patterns() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Two patterns that find in a body the name of an expensive method (or an escape, which may be
    part of one), and of a method that asks the node.
    """
    expensive = _naming(each for each in _methods() if each.is_expensive)
    return (
        re.compile(expensive.pattern + rb"|\\u"),
        _naming(each for each in _methods() if each.asks_node),
    )


def _naming(methods: Iterable[Method]) -> re.Pattern[bytes]:
    names = sorted({re.escape(each.name) for each in methods})
    return re.compile(rb'"(?:%b)"' % "|".join(names).encode())


def _methods() -> list[Method]:
    tables = [view.methods for _path, view in endpoints() if getattr(view, "methods", None)]
    return [method for table in tables for method in table]
