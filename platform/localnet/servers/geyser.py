"""The Geyser stream: Yellowstone's gRPC service over localnet's feed."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

from google.protobuf.message import DecodeError
from solders.hash import Hash, ParseHashError

from chain.commitment import Commitment
from chain.units import Slot
from grpcserver.bounds import Bounds
from grpcserver.call import Call
from grpcserver.serving import serving
from localnet.faults import Faults
from localnet.feed import Feed
from localnet.servers.geyser_streams import Broadcast, Stream
from upstream.geyser import SERVICE
from upstream.geyser.messages import created_now
from upstream.geyser.request_filters import BadFilter, Filters
from upstream.grpc.status import (
    INTERNAL,
    INVALID_ARGUMENT,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    GrpcStatus,
)
from upstream.protobuf import geyser_pb2 as schema

_COMMITMENTS = (Commitment.PROCESSED, Commitment.CONFIRMED, Commitment.FINALIZED)
_PATH = f"/{SERVICE}/"


class Block(Protocol):
    """What the unary calls return of a block."""

    @property
    def slot(self) -> Slot: ...
    @property
    def block_height(self) -> int: ...
    @property
    def blockhash(self) -> Hash: ...
    @property
    def last_valid_block_height(self) -> int: ...

    def accepts(self, blockhash: Hash) -> bool:
        """Whether the next block takes transactions that name it."""


class Chain(Protocol):
    """Where the chain stands."""

    def latest(self, commitment: Commitment) -> Block: ...


@asynccontextmanager
async def serve(
    chain: Chain,
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
    service = _Service(chain, feed, faults, token, ping_seconds, stream_limit)
    broadcast = asyncio.create_task(service.broadcast.run())
    try:
        async with serving(service.answer, Bounds.none(), host, port) as bound:
            yield bound
    finally:
        broadcast.cancel()


class _Service:
    def __init__(
        self,
        chain: Chain,
        feed: Feed,
        faults: Faults,
        token: str,
        ping_seconds: float,
        stream_limit: int,
    ) -> None:
        self.broadcast = Broadcast(feed, faults)
        self._chain = chain
        self._feed = feed
        self._faults = faults
        self._token = token
        self._ping_seconds = ping_seconds
        self._stream_limit = stream_limit
        self._unary: dict[str, tuple[Callable[[Any], Any], Any]] = {
            "SubscribeReplayInfo": (self._replay_info, schema.SubscribeReplayInfoRequest),
            "Ping": (self._ping, schema.PingRequest),
            "GetLatestBlockhash": (self._latest_blockhash, schema.GetLatestBlockhashRequest),
            "GetBlockHeight": (self._block_height, schema.GetBlockHeightRequest),
            "GetSlot": (self._slot, schema.GetSlotRequest),
            "IsBlockhashValid": (self._is_blockhash_valid, schema.IsBlockhashValidRequest),
            "GetVersion": (self._version, schema.GetVersionRequest),
        }

    async def answer(self, call: Call) -> None:
        """Answers a call, or raises its GrpcStatus."""
        name = call.path.removeprefix(_PATH)
        if call.path == name or name not in (*self._unary, "Subscribe", "SubscribeDeshred"):
            raise GrpcStatus(UNIMPLEMENTED, "Method not found!")
        if self._token and call.headers.get("x-token") != self._token:
            raise GrpcStatus(UNAUTHENTICATED, "No valid auth token")
        if name == "SubscribeDeshred":
            raise GrpcStatus(UNIMPLEMENTED, "SubscribeDeshred is not served")
        if name == "Subscribe":
            await self._subscribe(call)
            return
        answer, request = self._unary[name]
        try:
            found = answer(request.FromString(await call.request()))
        except DecodeError:
            raise GrpcStatus(INTERNAL, "Exception deserializing request!") from None
        call.begin()
        call.send(found.SerializeToString())

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

    # --- unary calls ------------------------------------------------------------------------------

    def _replay_info(self, request: Any) -> Any:
        return schema.SubscribeReplayInfoResponse(first_available=self._feed.first_available)

    def _ping(self, request: Any) -> Any:
        return schema.PongResponse(count=request.count)

    def _latest_blockhash(self, request: Any) -> Any:
        block = self._latest(request)
        return schema.GetLatestBlockhashResponse(
            slot=block.slot,
            blockhash=str(block.blockhash),
            last_valid_block_height=block.last_valid_block_height,
        )

    def _block_height(self, request: Any) -> Any:
        return schema.GetBlockHeightResponse(block_height=self._latest(request).block_height)

    def _slot(self, request: Any) -> Any:
        return schema.GetSlotResponse(slot=self._latest(request).slot)

    def _is_blockhash_valid(self, request: Any) -> Any:
        block = self._latest(request)
        try:
            blockhash = Hash.from_string(request.blockhash)
        except ParseHashError:
            raise GrpcStatus(INVALID_ARGUMENT, f"{request.blockhash!r} is no blockhash") from None
        valid = block.accepts(blockhash)
        return schema.IsBlockhashValidResponse(slot=block.slot, valid=valid)

    def _version(self, request: Any) -> Any:
        version = {"package": "localnet", "proto": SERVICE, "version": "0"}
        return schema.GetVersionResponse(version=json.dumps(version))

    def _latest(self, request: Any) -> Block:
        # Who names no commitment means PROCESSED here, unlike in JSON-RPC.
        if not 0 <= request.commitment < len(_COMMITMENTS):
            text = f"no commitment has the number {request.commitment}"
            raise GrpcStatus(INVALID_ARGUMENT, text)
        return self._chain.latest(_COMMITMENTS[request.commitment])
