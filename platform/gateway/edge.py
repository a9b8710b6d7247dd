"""Decisions of the web server's event loop: how to refuse an invalid request, which threads answer
a request, and what is answered without threads.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connections

from access.errors import KeyRefused
from columns import raw_queries
from columns.loop_queries import CONNECTIONS, LoopQueries
from columns.raw_queries import close_lost_connection
from eventloop import faces
from gateway.addresses import client_address
from gateway.admission import FREE, Entry, admit, sender_of
from gateway.answers import Answer, refused, request_id
from gateway.bodies import calls_of, larger_of, may_send_large
from gateway.health_views import CORS
from gateway.permissions import right_missing
from gateway.refusals import (
    BodyTooLarge,
    ContentTypeUnsupported,
    HeadTooLarge,
    HostRequired,
    NotAllowed,
    Overloaded,
    Refusal,
    RequestFailed,
    RequestMalformed,
    RequestTimedOut,
    TooManyAtOnce,
    TooManyConnections,
    format_of,
)
from gateway.routes import endpoint_at, is_page
from jsonrpc import dispatch as rpc
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from shared_state import script_socket
from shared_state.loop_scripts import LoopScripts
from webserver.lanes import Lane
from webserver.large_bodies import LargeBodies
from webserver.requests import Request
from webserver.responses import Headers, Refused, Response

# Path → who sends a body there, by the request's environ: None for one who may not.
Uploads = Mapping[str, Callable[[Mapping[str, Any]], bytes | None]]

# Answers on the loop without waiting, or None.
AtOnce = Callable[[Request], Response | None]

_ON_THE_LOOP = frozenset({"/healthz", "/priority/ping"})
_ADDRESS = ("127.0.0.1", 0)
# The node gets at most eight requests at a time (upstream.connection_pool); further threads
# answer that it is busy.
_NODE_THREADS = 10
_PAGE_THREADS = 4

# Of all paths: that of a request with another one is not read.
_HTTP_METHODS = "GET, HEAD, POST, PATCH, DELETE"

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
    elif why is Refused.METHOD_UNKNOWN:
        error = NotAllowed("" if request is None else request.method, _HTTP_METHODS)
    else:
        error = _REFUSALS[why]()
    method, path = ("", "") if request is None else (request.method, request.path)
    answered = refused(error, format_of(method, path))
    sent_id = None if request is None else request.header(b"x-request-id")
    answer = Answer(answered, request_id(None if sent_id is None else sent_id.decode("latin-1")))
    return answered.status, list(answer.headers.items()), answer.content


def _too_large(request: Request | None) -> BodyTooLarge:
    view = None if request is None else _view_of(request)
    larger = None if view is None else larger_of(view.policy)
    found = None if request is None or request.length < 0 else request.length
    return BodyTooLarge(settings.MAX_BODY, found, larger)


def _view_of(request: Request) -> Any:
    """The endpoint at the request's path; None if there is none."""
    match = endpoint_at(request.decoded_path)
    return None if match is None else match.func


def at_once(application: Any) -> AtOnce:
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


def database_sessions() -> int:
    """How many sessions of PostgreSQL a web process opens at most for its requests."""
    threads = settings.WEB_THREADS + settings.DEAR_CALLS + _NODE_THREADS + _PAGE_THREADS
    return threads + CONNECTIONS


class Lanes:
    """Separate threads for quick calls, for expensive ones, for those that wait for the followed
    node, and for pages, so that none of these can block another. A call's lane is its method's.
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
        self.all = {self.quick, self.expensive, self.node, self.pages}

    def begin(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        """Prepares the loop for async methods: their queries and scripts use connections of its
        own, and what would block it runs in threads for quick calls. Returns a function that ends
        this.
        """
        queries, scripts = LoopQueries(loop), LoopScripts(loop)
        raw_queries.on_loop, script_socket.on_loop = queries.execute, scripts.ask
        faces.begin(loop, self._submit)

        def end() -> None:
            raw_queries.on_loop = script_socket.on_loop = None
            faces.end()
            queries.close()
            scripts.close()

        return end

    def _submit(self, job: Callable[[], None]) -> None:
        def run() -> None:
            with usable_database():
                job()

        self.quick.threads.submit(run)

    def of(self, request: Request, address: str) -> tuple[Lane, bytes]:
        """The threads that answer the request, and its caller: the key or address."""
        match = endpoint_at(request.decoded_path)
        if request.upgrades:
            return self.quick, b""
        if match is None or is_page(match.func, request.method):
            return self.pages, b""
        if request.method != "POST":
            if getattr(getattr(match.func, "cls", None), "asks_node", False):
                return self.node, holder_of(request, address)
            return self.quick, b""
        methods: MethodTable | None = getattr(match.func, "methods", None)
        if methods is None:
            return self.quick, b""
        if len(request.body) > settings.MAX_BODY:
            # Only expensive methods take it, and reading all of it would hold up the loop.
            return self.expensive, holder_of(request, address)
        calls = calls_of(request)
        if isinstance(calls, RpcError):
            return self.quick, b""
        lane = self.of_calls(calls, methods)
        return lane, b"" if lane is self.quick else holder_of(request, address)

    def of_calls(self, calls: rpc.Requests, methods: MethodTable) -> Lane:
        """The lane of the most demanding method."""
        names = [each.method for each in calls.items]
        found = [method for name in names if (method := methods.get(name)) is not None]
        # A single call that is forwarded waits on the loop.
        forwards = calls.batch and any(map(methods.falls_back, names))
        if forwards or any(each.asks_node for each in found):
            return self.node
        return self.expensive if any(each.is_expensive for each in found) else self.quick


@contextlib.contextmanager
def usable_database() -> Iterator[None]:
    """A thread's connection is usable, and closed afterwards if it is old or failed."""
    close_lost_connection()
    try:
        yield
    finally:
        close_old_connections()


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
        with usable_database():
            return find(request.environ((address, 0), _ADDRESS))

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
    try:
        with usable_database():
            view = _view_of(request)
            sender = sender_of(request.environ((address, 0), _ADDRESS))
            entry = Entry(sender, view.policy, terms=lambda _caller: FREE)
            caller = admit(entry, now=datetime.now(UTC))
            methods = [method.name for method in view.methods if method.takes_large]
            refusals = [right_missing(caller, view.policy, name) for name in methods]
    except (KeyRefused, Refusal):
        return None
    may = may_send_large(caller, view.policy) and None in refusals
    return b"%d" % caller.key_id if may and caller.key_id is not None else None


def holder_of(request: Request, address: str) -> bytes:
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
