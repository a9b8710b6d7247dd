"""Calls that are forwarded to another service on the web server's event loop without a thread."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from django.http.response import HttpResponseBase

from access.buckets import Taken
from eventloop.faces import in_thread
from gateway.answers import Answered
from gateway.compression import Compressor, acompress, chosen
from gateway.outages import outage_of
from jsonrpc import dispatch as rpc
from jsonrpc.errors import RpcError
from jsonrpc.methods import Fallback, Pieces
from jsonrpc.wire import Encoded
from webserver.responses import Response
from webserver.streams import Stream

# The connection to the node is closed after this time, however slowly a client reads.
_LONGEST_SECONDS = 600.0


class Observer(Protocol):
    """Counts the call's outcome. `started` is the start of the call (perf_counter)."""

    started: float

    def __call__(self, method: str, error: RpcError | None) -> None: ...


class HandedOn(HttpResponseBase):
    """A placeholder for a response that `later` makes on the loop."""

    def __init__(self, later: Callable[[], Coroutine[Any, Any, Response]]) -> None:
        # Without HttpResponseBase's own: headers and cookies of this one are not used.
        self.later = later


@dataclass(slots=True)
class Handing:
    """One call to forward, with the data for its response; `accepted` is the request's
    Accept-Encoding."""

    fallback: Fallback
    request: rpc.Request
    call: Any
    observe: Observer
    taken: Taken | None
    accepted: str

    async def response(self) -> Response:
        """The response, when the result is complete or known to be long."""
        request, call = self.request, self.call
        try:
            found = await self.fallback.ask(call, request.method, request.params_array)
        except Exception as error:
            return await self._whole([rpc.failed(error, request, call, self.observe, outage_of)])
        if not isinstance(found, Encoded):
            return self._streamed(found)
        self.observe(request.method, None)
        return await self._whole([rpc.result_head(request.id), *found.chunks, b"}"])

    async def _whole(self, chunks: list[bytes]) -> Response:
        encoding = None
        if self.accepted:
            chunks, encoding = await acompress(chunks, self.accepted)
        answered = Answered(chunks, encoding=encoding, headers=self.call.headers)
        return answered.response(self.call.request_id, self.taken)

    def _streamed(self, pieces: Pieces) -> Response:
        encoding = chosen(self.accepted[:200]) if self.accepted else None
        answered = Answered([], encoding=encoding)
        lines = answered.lines(self.call.request_id, self.taken, length=False)
        compressor = None if encoding is None else Compressor(encoding)
        proceed = partial(self._proceed, pieces, compressor)
        return Response(200, (), [], proceed, pieces.close, goes_on=True, lines=lines)

    async def _proceed(self, pieces: Pieces, compressor: Compressor | None, stream: Stream) -> None:
        """Sends the pieces as fast as the client takes them. If they end early the connection is
        aborted, so that the client does not take the response for complete.
        """
        request = self.request
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                await self._send(stream, compressor, rpc.result_head(request.id))
                while piece := await pieces.next():
                    await self._send(stream, compressor, piece)
                await self._send(stream, compressor, b"}")
                if compressor is not None:
                    await stream.write(compressor.end())
        except (ConnectionError, asyncio.CancelledError):
            self.observe(request.method, None)  # the client disconnected
            raise
        except TimeoutError:
            self.observe(request.method, None)  # or too slow
            stream.abort()
        except Exception as error:
            stream.abort()
            rpc.failed(error, request, self.call, self.observe, outage_of)
        else:
            self.observe(request.method, None)
        finally:
            pieces.close()

    async def _send(self, stream: Stream, compressor: Compressor | None, piece: bytes) -> None:
        if compressor is not None:
            piece = await in_thread(compressor.piece, piece)
        began = time.perf_counter()
        await stream.write(piece)
        # The client's speed is not part of the call's duration.
        self.observe.started += time.perf_counter() - began
