"""A small WSGI application, and the web server that serves it."""

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.patience import PATIENCE_SECONDS
from tests.webserver.client import Client
from tests.webserver.serving import serving
from webserver.charges import ClientOf, peer
from webserver.connections import Connection
from webserver.limits import Limits
from webserver.requests import CONTINUE, KNOWN, SENT, UPGRADE, Request
from webserver.responses import Response
from webserver.streams import Stream
from webserver.upgrades import Upgrade
from webserver.worker import LaneOf, Worker

Environ = dict[str, Any]


@dataclass
class Application:
    """`/known` knows who sent the request, and refuses them by `?refused`; `/held` waits until
    `gate` opens; `/big?N` is N bytes; `/empty` is a 204; `/raises` raises; `/stream` goes on with
    `proceed`; `/socket` is a WebSocket by `upgrade`; `answers` has further paths; any other path
    tells what came.
    """

    gate: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    running: Counter[str] = field(default_factory=Counter)
    proceed: Callable[[Stream], Any] | None = None
    upgrade: Upgrade | None = None
    sent: threading.Event = field(default_factory=threading.Event)
    calls: list[str] = field(default_factory=list)
    answers: dict[str, Callable[[], Iterator[bytes]]] = field(default_factory=dict)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Any:
        path = environ["PATH_INFO"]
        self.calls.append(path)
        if path == "/raises":
            raise RuntimeError("the test's own")
        if path in self.answers:
            start_response("200 OK", [("Content-Length", "1"), ("Content-Type", "text/plain")])
            return self.answers[path]()
        if path == "/known":
            environ[KNOWN] = True
            refused = environ["QUERY_STRING"] == "refused"
            start_response("429 Too Many Requests" if refused else "200 OK", [])
            return [b"known"]
        if path == "/empty":
            start_response("204 No Content", [])
            return []
        if path == "/stream":
            environ[CONTINUE], environ[SENT] = self.proceed, self.sent.set
            start_response("200 OK", [("Content-Type", "text/event-stream")])
            return []
        if path == "/socket":
            environ[UPGRADE] = self.upgrade
            start_response("101 Switching Protocols", [])
            return []
        if path == "/held":
            self.arrived.release()
            assert self.gate.wait(PATIENCE_SECONDS)
        if path == "/big":
            environ[SENT] = self.sent.set
            start_response("200 OK", [("Content-Type", "application/octet-stream")])
            return [b"x" * int(environ["QUERY_STRING"])]
        body = environ.pop("wsgi.input").read()
        seen = {name: value for name, value in environ.items() if isinstance(value, str)}
        start_response("200 OK", [("Content-Type", "application/json")])
        return iter([json.dumps({**seen, "body": body.decode("latin-1")}).encode()])

    def wait_for(self, count: int) -> None:
        """Until so many calls of `/held` more have begun."""
        for _ in range(count):
            assert self.arrived.acquire(timeout=PATIENCE_SECONDS)


@dataclass
class Served:
    """Where an application is served."""

    port: int
    worker: Worker
    application: Application

    def client(self, source: str = "127.0.0.1") -> Client:
        return Client(self.port, source)


def _at_once(request: Request, _connection: Connection) -> Response | None:
    return Response(200, [], [b"now"]) if request.path == "/now" else None


@contextlib.contextmanager
def served(
    lane_of: LaneOf | None = None, client_of: ClientOf = peer, **limits: Any
) -> Iterator[Served]:
    """Serves a small application under these limits until the end; `/now` needs no thread."""
    application = Application()
    worker = Worker(
        application,
        lane_of=lane_of,
        limits=Limits(**limits),
        on_loop=_at_once,
        client_of=client_of,
    )
    with serving(worker) as port:
        try:
            yield Served(port, worker, application)
        finally:
            application.gate.set()
