"""A client of the stream of fates, and a server of it in a thread of the test's own process."""

import asyncio
import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from priority.streams import PATH, serve


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

    def __init__(self, port: int) -> None:
        self.port = port

    def health(self) -> Any:
        """What the process tells of itself."""
        return self.open(path="/healthz").refusal

    @property
    def is_fed(self) -> bool:
        """Redis has answered it."""
        return bool(self.health()["fed"])

    def open(
        self,
        key: str = "",
        *,
        query: dict[str, Any] | None = None,
        method: str = "GET",
        path: str = PATH,
        **headers: str,
    ) -> FateStream:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
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
    """The server, on a port of its own, until the end."""
    began: list[int] = []
    ready, stopping = threading.Event(), threading.Event()

    async def main() -> None:
        async with serve("127.0.0.1", 0, redis_url=settings.REDIS_URL) as port:
            began.append(port)
            ready.set()
            await asyncio.to_thread(stopping.wait)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield FateServer(began[0])
    finally:
        stopping.set()
        thread.join(20)
        assert not thread.is_alive()
