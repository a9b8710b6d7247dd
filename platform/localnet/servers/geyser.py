"""The Geyser stream: Yellowstone's gRPC service over localnet's feed."""

import asyncio
import errno
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import grpc
import grpc.aio
from google.protobuf.message import Message
from solders.hash import Hash, ParseHashError

from chain.commitment import Commitment
from chain.units import Slot
from localnet.faults import Faults
from localnet.feed import Feed
from localnet.servers.geyser_streams import Broadcast, Stream, created_now
from upstream.geyser import SERVICE
from upstream.geyser.request_filters import BadFilter, Filters
from upstream.protobuf import geyser_pb2 as schema

_COMMITMENTS = (Commitment.PROCESSED, Commitment.CONFIRMED, Commitment.FINALIZED)
_OPTIONS = [
    # Two servers on one port would share the streams between them unseen.
    ("grpc.so_reuseport", 0),
    # Clients keep silent streams alive as they like.
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.max_send_message_length", -1),
]


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
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers((service.handlers(),))
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError:
        raise OSError(errno.EADDRINUSE, f"port {port} is taken") from None
    await server.start()
    broadcast = asyncio.create_task(service.broadcast.run())
    try:
        yield bound
    finally:
        broadcast.cancel()
        await server.stop(grace=None)


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

    def handlers(self) -> Any:
        unary: dict[str, tuple[Any, type[Message]]] = {
            "SubscribeReplayInfo": (self._replay_info, schema.SubscribeReplayInfoRequest),
            "Ping": (self._ping, schema.PingRequest),
            "GetLatestBlockhash": (self._latest_blockhash, schema.GetLatestBlockhashRequest),
            "GetBlockHeight": (self._block_height, schema.GetBlockHeightRequest),
            "GetSlot": (self._slot, schema.GetSlotRequest),
            "IsBlockhashValid": (self._is_blockhash_valid, schema.IsBlockhashValidRequest),
            "GetVersion": (self._version, schema.GetVersionRequest),
        }
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                self._guarded(answer),
                request_deserializer=request.FromString,
                response_serializer=_serialized,
            )
            for name, (answer, request) in unary.items()
        }
        # Updates are bytes already; requests are read in the stream, where a bad one has an answer.
        handlers["Subscribe"] = grpc.stream_stream_rpc_method_handler(self._subscribe)
        handlers["SubscribeDeshred"] = grpc.stream_stream_rpc_method_handler(self._deshred)
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    # --- streams ----------------------------------------------------------------------------------

    async def _subscribe(self, requests: AsyncIterator[bytes], context: Any) -> None:
        await self._check_token(context)
        if self._faults.refuse_streams:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "streams are refused on demand")
        stream = self.broadcast.open(limit=self._stream_limit)
        tasks = [
            asyncio.create_task(self._read(stream, requests)),
            asyncio.create_task(self._keep_alive(stream)),
        ]
        try:
            while updates := await stream.updates():
                for update in updates:
                    await context.write(update)
            assert stream.ending is not None
            await context.abort(*stream.ending)
        finally:
            self.broadcast.close(stream)
            for task in tasks:
                task.cancel()

    async def _read(self, stream: Stream, requests: AsyncIterator[bytes]) -> None:
        """Every request of the subscriber; who is done with asking goes on getting."""
        async for data in requests:
            try:
                request = schema.SubscribeRequest.FromString(data)
            except Exception:  # protobuf's own, which differs between its implementations
                stream.end(grpc.StatusCode.INVALID_ARGUMENT, "not a SubscribeRequest")
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
                stream.end(grpc.StatusCode.INVALID_ARGUMENT, text)
                return
            from_slot = Slot(request.from_slot) if request.HasField("from_slot") else None
            self.broadcast.subscribe(stream, filters, from_slot)

    async def _keep_alive(self, stream: Stream) -> None:
        while True:
            await asyncio.sleep(self._ping_seconds)
            stream.send(schema.SubscribeUpdate(ping={}).SerializeToString() + created_now())

    async def _deshred(self, requests: AsyncIterator[bytes], context: Any) -> None:
        await self._check_token(context)
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "SubscribeDeshred is not served")

    # --- unary calls ------------------------------------------------------------------------------

    async def _check_token(self, context: Any) -> None:
        token = dict(context.invocation_metadata() or ()).get("x-token")
        if self._token and token != self._token:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "No valid auth token")

    def _guarded(self, answer: Any) -> Any:
        async def guarded(request: Any, context: Any) -> Any:
            await self._check_token(context)
            try:
                return answer(request)
            except _BadRequest as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

        return guarded

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
            raise _BadRequest(f"{request.blockhash!r} is no blockhash") from None
        valid = block.accepts(blockhash)
        return schema.IsBlockhashValidResponse(slot=block.slot, valid=valid)

    def _version(self, request: Any) -> Any:
        version = {"package": "localnet", "proto": SERVICE, "version": "0"}
        return schema.GetVersionResponse(version=json.dumps(version))

    def _latest(self, request: Any) -> Block:
        # Who names no commitment means PROCESSED here, unlike in JSON-RPC.
        if not 0 <= request.commitment < len(_COMMITMENTS):
            raise _BadRequest(f"no commitment has the number {request.commitment}")
        return self._chain.latest(_COMMITMENTS[request.commitment])


class _BadRequest(ValueError):
    """What was asked for does not exist; the text says so."""


def _serialized(message: Any) -> bytes:
    return bytes(message.SerializeToString())
