"""Call: one call of a client, by its requests and its responses."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from google.protobuf.message import DecodeError, Message

from grpcserver.encoding import ACCEPTED, Framing
from upstream.grpc.status import DEADLINE_EXCEEDED, INVALID_ARGUMENT, GrpcStatus

if TYPE_CHECKING:
    from grpcserver.transport import Http2

# The request of a call that has only one.
_REQUEST_SECONDS = 15.0
# How long the rest of a message may take that was begun when the call ended.
_GOODBYE_SECONDS = 5.0
_LONGEST_TEXT = 1_000
_MOST_REQUESTS_WAITING = 100
_MOST_BYTES_WAITING = 1_048_576
# What a status' text may have as it is, besides letters and digits.
_PLAIN = " !#$&'()*+,/:;=?@[]`{|}<>^"


class Call:
    """One call of a client: read `messages`, `send` some, `end` it. Used on the loop."""

    def __init__(self, connection: "Http2", number: int, headers: dict[str, str]) -> None:
        self.headers = headers
        self.path = headers.get(":path", "")
        self.peer = connection.peer
        self.number = number
        self.is_ended = False
        # Bytes that wait for the client, and their messages.
        self.waiting_bytes = 0
        self.framing = Framing("identity", "")
        self.task: asyncio.Task[None] | None = None
        self.is_half_closed = False
        self._ended = asyncio.Event()
        self._connection = connection
        self._requests: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._request_bytes = 0
        self._chunks: deque[bytes] = deque()
        # Of the first chunk so much was sent.
        self._sent = 0
        self._has_headers = False
        self._status: GrpcStatus | None = None
        self._has_status = False
        self._taken = asyncio.Event()  # for a moment, when what was sent is taken

    @property
    def waiting(self) -> int:
        """Messages that wait for the client."""
        return len(self._chunks)

    async def messages(self) -> AsyncIterator[bytes]:
        """What the client sends, until it has no more to say."""
        while (message := await self._requests.get()) is not None:
            self._request_bytes -= len(message)
            self._connection.took_request(self)
            yield message

    async def request(self) -> bytes:
        """The one request of a unary call. Raises GrpcStatus."""
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                async for data in self.messages():
                    return data
        except TimeoutError:
            text = f"the request is not whole after {_REQUEST_SECONDS:.0f} s"
            raise GrpcStatus(DEADLINE_EXCEEDED, text) from None
        raise GrpcStatus(INVALID_ARGUMENT, "a call without a request")

    async def read(self, kind: Any) -> Any:
        """The same as a message of this kind. Raises GrpcStatus."""
        try:
            return kind.FromString(await self.request())
        except DecodeError:
            raise GrpcStatus(INVALID_ARGUMENT, f"not a {kind.DESCRIPTOR.name}") from None

    def reply(self, message: Message) -> None:
        """Sends the response of a unary call."""
        self.begin()
        self.send(message.SerializeToString())

    def send(self, *messages: bytes) -> int:
        """Sends messages as soon as the client takes them: their bytes on the wire."""
        if self.is_ended:
            return 0
        framed = self.framing.framed
        size = 0
        for message in messages:
            chunk = framed(message)
            size += len(chunk)
            self._chunks.append(chunk)
        self.waiting_bytes += size
        self._connection.push(self)
        return size

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Charges the client for what happens within, beside reading its requests."""
        began = time.thread_time()
        try:
            yield
        finally:
            self._connection.charge(time.thread_time() - began)

    def forgive(self) -> None:
        """It was answered for a good key: it does not count for the client's address."""
        self._connection.forgive_call()

    def begin(self) -> None:
        """Sends the headers of the response."""
        if not self._has_headers and not self.is_ended:
            self._has_headers = True
            headers = [
                (":status", "200"),
                ("content-type", "application/grpc"),
                ("grpc-accept-encoding", ACCEPTED),
            ]
            if self.framing.encoding != "identity":
                headers.append(("grpc-encoding", self.framing.encoding))
            self._connection.send_headers(self, headers, is_last=False)

    def end(self, status: GrpcStatus, *, drops: bool = False) -> None:
        """Ends the call when the client has taken what waits, or at once but for a message that was
        begun (`drops`).
        """
        if self.is_ended:
            return
        self.is_ended = True
        self._ended.set()
        self._status = status
        if drops:
            begun = [self._chunks[0]] if self._sent else []
            self._chunks = deque(begun)
            self.waiting_bytes = sum(map(len, begun)) - self._sent
            asyncio.get_running_loop().call_later(_GOODBYE_SECONDS, self._give_up)
        self._wake()
        self._requests.put_nowait(None)
        self._connection.push(self)

    async def ended(self) -> None:
        """Returns when the call has ended, by either side."""
        await self._ended.wait()

    async def drained(self) -> None:
        """Returns when the client has taken what was sent, or is gone."""
        while self._chunks and not self.is_ended:
            await self._taken.wait()

    # --- for the connection -----------------------------------------------------------------------

    def received(self, data: bytes) -> bool:
        """Data of the client; False while enough requests wait."""
        try:
            for message in self.framing.received(data):
                self._requests.put_nowait(message)
                self._request_bytes += len(message)
        except GrpcStatus as status:
            self.end(status, drops=True)
        return self.takes_more

    @property
    def takes_more(self) -> bool:
        return (
            self._requests.qsize() < _MOST_REQUESTS_WAITING
            and self._request_bytes < _MOST_BYTES_WAITING
        )

    def half_closed(self) -> None:
        self.is_half_closed = True
        self._requests.put_nowait(None)

    def lost(self) -> None:
        """The client cancelled it, or is gone."""
        self.is_ended = self._has_status = True
        self._ended.set()
        self._chunks.clear()
        self.waiting_bytes = 0
        self._wake()
        if self.task is not None:
            self.task.cancel()

    def taken(self, most: int) -> bytes:
        """So many bytes of what waits, at most."""
        found, size = [], 0
        while self._chunks and size < most:
            chunk = self._chunks[0]
            part = chunk[self._sent : self._sent + most - size] if self._sent else chunk
            if len(part) > most - size:
                part = part[: most - size]
            found.append(part)
            size += len(part)
            self._sent += len(part)
            if self._sent == len(chunk):
                self._chunks.popleft()
                self._sent = 0
        self.waiting_bytes -= size
        if not self._chunks:
            self._wake()
        return b"".join(found)

    def last_headers(self) -> tuple[list[tuple[str, str]], bool] | None:
        """The trailers, once all was sent, and whether they are all of the response; only once."""
        status = self._status
        if status is None or self._chunks or self._has_status:
            return None
        self._has_status = True
        headers = [("grpc-status", str(status.code))]
        if status.text:
            text = quote(status.text[:_LONGEST_TEXT], safe=_PLAIN)
            headers.append(("grpc-message", text))
        if self._has_headers:
            return headers, False
        return [(":status", "200"), ("content-type", "application/grpc"), *headers], True

    def _give_up(self) -> None:
        self._chunks.clear()
        self.waiting_bytes = 0
        self._connection.push(self)

    def _wake(self) -> None:
        self._taken.set()
        self._taken.clear()


def joined_headers(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers by name. Several fields of one name are one list, as in HTTP (RFC 9110, 5.3): two
    proxies may add an X-Forwarded-For each.
    """
    headers: dict[str, str] = {}
    for raw, value in fields:
        name, text = bytes(raw).decode("latin-1"), bytes(value).decode("latin-1")
        headers[name] = f"{headers[name]},{text}" if name in headers else text
    return headers
