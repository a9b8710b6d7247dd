"""A client of the stream of fates, and a server of it in a thread of the test's own process."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from priority.fates.streams import PATH
from tests.patience import PATIENCE_SECONDS
from tests.web_server import service_worker
from tests.webserver.serving import serving as web_serving
from webserver.worker import Worker


@dataclass
class Event:
    """One server-sent event."""

    name: str = ""
    identity: str = ""
    data: Any = None


@dataclass
class FateStream:
    """An open stream; `status` and `refusal`, the answer's JSON, where it was not opened."""

    connection: http.client.HTTPConnection
    response: http.client.HTTPResponse
    comments: int = 0
    refusal: Any = field(default=None)

    @property
    def status(self) -> int:
        return self.response.status

    def next(self) -> Event | None:
        """The next event, as soon as it is there; None when the stream has ended."""
        event = Event()
        while line := self.response.readline():
            text = line.decode().rstrip("\n")
            name, _, value = text.partition(": ")
            if text.startswith(":"):
                self.comments += 1
            elif name == "event":
                event.name = value
            elif name == "id":
                event.identity = value
            elif name == "data":
                event.data = json.loads(value)
            elif not text and event.name:
                return event
        return None

    def fates(self, count: int) -> list[tuple[str, str]]:
        """The next so many fates, as (signature, state); what else comes between is an error."""
        found = []
        for _ in range(count):
            event = self.next()
            assert event is not None and event.name == "fate", event
            found.append((event.data["signature"], event.data["state"]))
        return found

    def close(self) -> None:
        self.response.close()
        self.connection.close()


class FateServer:
    """Where the stream is served."""

    def __init__(self, port: int, worker: Worker) -> None:
        self.port = port
        self._worker = worker

    @property
    def streams(self) -> int:
        """How many are open."""
        return len(self._worker.streams)

    def open(
        self,
        key: str = "",
        *,
        query: dict[str, Any] | None = None,
        method: str = "GET",
        path: str = PATH,
        **headers: str,
    ) -> FateStream:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        if key:
            headers["Authorization"] = key
        target = f"{path}?{urlencode(query, doseq=True)}" if query else path
        connection.request(method, target, headers={"Host": "localhost", **headers})
        response = connection.getresponse()
        stream = FateStream(connection, response)
        if response.headers.get_content_type() == "application/json":
            stream.refusal = json.loads(response.read())
        return stream

    def ready(self, key: str, **options: Any) -> tuple[FateStream, str]:
        """An open stream that has said so, and the place at which it began."""
        stream = self.open(key, **options)
        assert stream.status == 200, stream.refusal
        event = stream.next()
        assert event is not None and event.name == "ready", event
        return stream, event.identity


@contextlib.contextmanager
def serving() -> Iterator[FateServer]:
    """The web server, on a port of its own, until the end."""
    worker = service_worker()
    with web_serving(worker) as port:
        yield FateServer(port, worker)
