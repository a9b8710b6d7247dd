"""The Geyser stream: Yellowstone's gRPC service over localnet's feed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.protobuf.message import DecodeError
from solders.hash import Hash

from chain.commitment import Commitment
from chain.units import Slot
from grpcserver.bounds import Bounds
from grpcserver.call import Call
from grpcserver.serving import serving
from localnet.bank import Bank
from localnet.faults import Faults
from localnet.feed import Feed
from localnet.ledger import Ledger
from localnet.servers.geyser_streams import Broadcast, Stream
from upstream.geyser import SERVICE, unary_calls
from upstream.geyser.messages import created_now
from upstream.geyser.request_filters import BadFilter, Filters
from upstream.geyser.unary_calls import REQUESTS
from upstream.grpc.status import (
    INVALID_ARGUMENT,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    GrpcStatus,
)
from upstream.protobuf import geyser_pb2 as schema

_COMMITMENTS = (Commitment.PROCESSED, Commitment.CONFIRMED, Commitment.FINALIZED)
_PATH = f"/{SERVICE}/"


@asynccontextmanager
async def serve(
    ledger: Ledger,
    feed: Feed,
    faults: Faults,
    host: str,
    port: int,
    *,
    token: str = "",
    ping_seconds: float = 10.0,
    stream_limit: int = 250_000,
) -> AsyncIterator[int]:
    """The service on this address while inside; gives the port, which port 0 leaves open. OSError
    if the address is taken. With a token, callers must send it as `x-token`. A stream that is
    `stream_limit` updates behind is ended.
    """
    service = _Service(ledger, feed, faults, token, ping_seconds, stream_limit)
    broadcast = asyncio.create_task(service.broadcast.run())
    try:
        async with serving(service.answer, Bounds.none(), host, port) as bound:
            yield bound
    finally:
        broadcast.cancel()


class _Service:
    def __init__(
        self,
        ledger: Ledger,
        feed: Feed,
        faults: Faults,
        token: str,
        ping_seconds: float,
        stream_limit: int,
    ) -> None:
        self.broadcast = Broadcast(feed, faults)
        self._ledger = ledger
        self._feed = feed
        self._faults = faults
        self._token = token
        self._ping_seconds = ping_seconds
        self._stream_limit = stream_limit

    async def answer(self, call: Call) -> None:
        """Answers a call, or raises its GrpcStatus."""
        name = call.path.removeprefix(_PATH)
        if call.path == name or name not in (*REQUESTS, "Subscribe", "SubscribeDeshred"):
            raise GrpcStatus(UNIMPLEMENTED, "Method not found!")
        if self._token and call.headers.get("x-token") != self._token:
            raise GrpcStatus(UNAUTHENTICATED, "No valid auth token")
        if name == "SubscribeDeshred":
            raise GrpcStatus(UNIMPLEMENTED, "SubscribeDeshred is not served")
        if name == "Subscribe":
            await self._subscribe(call)
            return
        call.reply(await unary_calls.answer(self, await call.read(REQUESTS[name])))

    # --- streams ----------------------------------------------------------------------------------

    async def _subscribe(self, call: Call) -> None:
        if self._faults.refuse_streams:
            raise GrpcStatus(UNAVAILABLE, "streams are refused on demand")
        stream = self.broadcast.open(call, limit=self._stream_limit)
        tasks = [
            asyncio.create_task(self._read(stream, call)),
            asyncio.create_task(self._keep_alive(stream)),
        ]
        call.begin()
        try:
            await stream.run()
        finally:
            self.broadcast.close(stream)
            for task in tasks:
                task.cancel()

    async def _read(self, stream: Stream, call: Call) -> None:
        """Every request of the subscriber; who is done with asking goes on getting."""
        async for data in call.messages():
            try:
                request = schema.SubscribeRequest.FromString(data)
            except DecodeError:
                stream.end(INVALID_ARGUMENT, "not a SubscribeRequest")
                return
            if request.HasField("ping"):
                # What happened before the ping comes before the pong.
                self.broadcast.catch_up()
                pong = schema.SubscribeUpdate(pong={"id": request.ping.id})
                stream.send(pong.SerializeToString() + created_now())
                continue
            try:
                filters = Filters(request)
            except BadFilter as error:
                text = f"failed to create filter: {error}"
                stream.end(INVALID_ARGUMENT, text)
                return
            from_slot = Slot(request.from_slot) if request.HasField("from_slot") else None
            self.broadcast.subscribe(stream, filters, from_slot)

    async def _keep_alive(self, stream: Stream) -> None:
        while True:
            await asyncio.sleep(self._ping_seconds)
            stream.send(schema.SubscribeUpdate(ping={}).SerializeToString() + created_now())

    # --- what unary calls ask ---------------------------------------------------------------------

    def version(self) -> dict[str, Any]:
        return {"package": "localnet", "proto": SERVICE, "version": "0"}

    async def first_available(self) -> int | None:
        return self._feed.first_available

    def newest(self, commitment: int) -> Bank:
        return self._ledger.latest(_COMMITMENTS[commitment])

    def accepts(self, block: Bank, blockhash: Hash) -> bool:
        return block.accepts(blockhash)
