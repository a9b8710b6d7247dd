"""Many gRPC calls of one event loop on one connection, which is made again when it was lost."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated
from h2.exceptions import H2Error

from upstream.foreign_text import fit
from upstream.grpc.calls import ClientCall, Http2, tls_context
from upstream.grpc.status import (
    DEADLINE_EXCEEDED,
    INTERNAL,
    OK,
    UNAVAILABLE,
    GrpcStatus,
)
from upstream.http.requests import Address, read_url

# While calls wait and nothing comes, the server is asked whether it is there, and given up.
_PING_SECONDS = 20.0
_GONE_SECONDS = 30.0
_LARGEST_MESSAGE = 1_048_576


class _NotTaken(GrpcStatus):
    """The server says that it has done nothing for the call."""


class Channel:
    """Calls to the server at `url` (http or https): BadAddress. It connects when something is
    called.
    """

    def __init__(self, url: str) -> None:
        self._server = read_url(url)
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()
        self._context: ssl.SSLContext | None = None

    async def unary(
        self, path: str, request: bytes, *, metadata: Mapping[str, str], seconds: float
    ) -> bytes:
        """The answer. Raises GrpcStatus, also without an answer in time. A call that the server has
        not taken, as it goes away, is made once more.
        """
        headers = {"grpc-timeout": f"{max(1, round(seconds * 1_000))}m", **metadata}
        try:
            async with asyncio.timeout(seconds):
                try:
                    return await self._answer(path, request, headers)
                except _NotTaken:
                    return await self._answer(path, request, headers)
        except TimeoutError:
            raise GrpcStatus(DEADLINE_EXCEEDED, f"no answer within {seconds:g} s") from None

    async def stream(
        self, path: str, request: bytes, *, metadata: Mapping[str, str]
    ) -> AsyncIterator[bytes]:
        """What comes, until the call ends: then GrpcStatus, also where it ended well."""
        async with self._call(path, request, metadata) as (connection, call):
            async for message in connection.messages(call):
                yield message

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _answer(self, path: str, request: bytes, headers: Mapping[str, str]) -> bytes:
        found: bytes | None = None
        async with self._call(path, request, headers) as (connection, call):
            try:
                async for message in connection.messages(call):
                    found = message if found is None else found
            except GrpcStatus as status:
                if call.was_not_taken:
                    raise _NotTaken(status.code, status.text) from None
                if status.code != OK:
                    raise
        if found is None:
            raise GrpcStatus(INTERNAL, "the call ended well and without an answer")
        return found

    @asynccontextmanager
    async def _call(
        self, path: str, request: bytes, metadata: Mapping[str, str]
    ) -> AsyncIterator[tuple["_Connection", ClientCall]]:
        connection = await self._connected()
        call = connection.begin(self._server, path, metadata, request)
        try:
            yield connection, call
        finally:
            connection.finish(call)

    async def _connected(self) -> "_Connection":
        async with self._connecting:
            if self._connection is None or not self._connection.takes_calls:
                if self._connection is not None:
                    self._connection.leave()
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> "_Connection":
        if self._server.tls and self._context is None:
            self._context = tls_context()
        try:
            _, made = await asyncio.get_running_loop().create_connection(
                _Connection, self._server.host, self._server.port, ssl=self._context
            )
        except OSError as error:
            raise GrpcStatus(UNAVAILABLE, fit(error.strerror or str(error), 200)) from None
        return made


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.takes_calls = True
        self._http = Http2()
        self._transport: Any = None
        self._calls: dict[int, tuple[ClientCall, asyncio.Event]] = {}
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    # --- for the channel --------------------------------------------------------------------------

    def begin(
        self, server: Address, path: str, metadata: Mapping[str, str], request: bytes
    ) -> ClientCall:
        """Raises GrpcStatus where the server takes no further call."""
        try:
            call = ClientCall(self._http, server, path, metadata, largest=_LARGEST_MESSAGE)
            call.send(request, last=True)
        except H2Error as error:
            raise GrpcStatus(UNAVAILABLE, f"no further call: {fit(str(error), 200)}") from None
        self._calls[call.number] = (call, asyncio.Event())
        if len(self._calls) == 1:
            self._heard_at = self._loop.time()
            self._watch()
        self._flush()
        return call

    async def messages(self, call: ClientCall) -> AsyncIterator[bytes]:
        """Until the call ends; then GrpcStatus."""
        _, came = self._calls[call.number]
        while True:
            came.clear()
            for message in call.messages():
                yield message
            if call.status is not None:
                raise call.status
            await came.wait()

    def finish(self, call: ClientCall) -> None:
        """No one waits for the call any more."""
        self._calls.pop(call.number, None)
        if call.status is None:
            with contextlib.suppress(H2Error):  # it is over
                self._http.reset_stream(call.number, ErrorCodes.CANCEL)
            self._flush()
        if not self.takes_calls and not self._calls:
            self.close()

    def leave(self) -> None:
        """No further call; those that it has go on."""
        self.takes_calls = False
        if not self._calls:
            self.close()

    def close(self) -> None:
        self.takes_calls = False
        if self._transport is not None:
            self._transport.close()

    # --- from the loop ----------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        try:
            for event in self._http.receive_data(data):
                self._take(event)
            for call, _ in self._calls.values():
                call.acknowledge()
                call.push()
        except (H2Error, ValueError, LookupError) as error:
            self._lose(GrpcStatus(INTERNAL, f"not HTTP/2: {fit(str(error), 200)}"))
        self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        text = fit(str(error), 200) if error else "the server closed the connection"
        self._lose(GrpcStatus(UNAVAILABLE, text))

    # --- inside -----------------------------------------------------------------------------------

    def _take(self, event: Any) -> None:
        if isinstance(event, ConnectionTerminated):
            self.takes_calls = False
            concerned = list(self._calls.values())
        else:
            one = self._calls.get(getattr(event, "stream_id", None) or 0)
            concerned = [] if one is None else [one]
        for call, came in concerned:
            call.take(event)
            came.set()

    def _lose(self, status: GrpcStatus) -> None:
        self.close()
        if self._timer is not None:
            self._timer.cancel()
        for call, came in self._calls.values():
            call.end(call.gone() or status)
            came.set()

    def _watch(self) -> None:
        """Asks a server that calls wait for whether it is there."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._calls or self._transport.is_closing():
            return
        silent = self._loop.time() - self._heard_at
        if silent >= _GONE_SECONDS:
            self._transport.abort()
            return
        if silent >= _PING_SECONDS:
            with contextlib.suppress(H2Error):
                self._http.ping(b"tidemark")
            self._flush()
        self._timer = self._loop.call_later(_PING_SECONDS / 4, self._watch)

    def _flush(self) -> None:
        out = self._http.data_to_send()
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(out)
