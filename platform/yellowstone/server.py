"""The service geyser.Geyser: its calls, on a port of its own."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from django.conf import settings
from google.protobuf.message import DecodeError
from solders.hash import Hash, ParseHashError

from gateway.addresses import is_trusted
from grpcserver.bounds import Bounds
from grpcserver.call import Call
from grpcserver.serving import serving
from jsonrpc.errors import RpcError
from livefeed.messages import Level
from shared_state.outages import AWAY
from upstream.geyser import SERVICE
from upstream.grpc.status import INVALID_ARGUMENT, UNIMPLEMENTED, GrpcStatus
from upstream.protobuf import geyser_pb2 as schema
from webserver.limits import Limits, raised_file_limit
from yellowstone import access, health, past, statuses
from yellowstone.engine import Engine
from yellowstone.streams import Stream
from yellowstone.tip import Block

_PATH = f"/{SERVICE}/"
_NEED_SHREDS_OR_GOSSIP = ("SubscribeDeshred", "SubscribeGossip")

Answer = Callable[[Any], Awaitable[Any]]


@asynccontextmanager
async def serve(host: str, port: int, *, version: str = "") -> AsyncIterator[int]:
    """Serves on this address while inside; gives the port, which port 0 leaves open. Raises OSError
    where the address is taken. `version` is what GetVersion says of the node.
    """
    engine = Engine(settings.REDIS_URL)
    service = _Service(engine, version)
    limits = Limits(
        connections=settings.MAX_CONNECTIONS,
        connections_per_address=settings.MAX_CONNECTIONS_PER_ADDRESS,
    ).fitting(raised_file_limit())
    bounds = Bounds(
        most=limits.connections,
        most_of_address=limits.connections_per_address,
        is_proxy=is_trusted,
    )
    async with serving(service.answer, bounds, host, port, stop=engine.stop) as found:
        engine.start()
        yield found


class _Service:
    def __init__(self, engine: Engine, version: str) -> None:
        self._engine = engine
        self._version = version
        self._health = health.Health(lambda: engine.link.is_fed)
        self._unary: dict[str, tuple[Answer, Any]] = {
            "SubscribeReplayInfo": (self._replay_info, schema.SubscribeReplayInfoRequest),
            "Ping": (self._ping, schema.PingRequest),
            "GetLatestBlockhash": (self._latest_blockhash, schema.GetLatestBlockhashRequest),
            "GetBlockHeight": (self._block_height, schema.GetBlockHeightRequest),
            "GetSlot": (self._slot, schema.GetSlotRequest),
            "IsBlockhashValid": (self._is_blockhash_valid, schema.IsBlockhashValidRequest),
            "GetVersion": (self._get_version, schema.GetVersionRequest),
        }

    async def answer(self, call: Call) -> None:
        """Answers a call, or raises its GrpcStatus."""
        if call.path.startswith(health.PATH):
            await self._health_of(call)
            return
        name = call.path.removeprefix(_PATH)
        is_known = name in self._unary or name in ("Subscribe", *_NEED_SHREDS_OR_GOSSIP)
        if call.path == name or not is_known:
            raise statuses.not_served(call.path)
        try:
            if name == "Subscribe":
                await self._subscribe(call)
                return
            await self._engine.in_thread(access.admit, call.headers, call.peer, name)
        except RpcError as error:
            raise statuses.refused(error) from None
        except AWAY:
            raise statuses.ended("sockets_unavailable") from None
        if name in _NEED_SHREDS_OR_GOSSIP:
            raise GrpcStatus(UNIMPLEMENTED, f"{name} is not served")
        answer, request = self._unary[name]
        data = await call.request()
        try:
            found = await answer(request.FromString(data))
        except DecodeError:
            raise GrpcStatus(INVALID_ARGUMENT, f"not a request of {name}") from None
        except AWAY:
            raise statuses.ended("sockets_unavailable") from None
        call.begin()
        call.send(found.SerializeToString())
        call.forgive()

    async def _health_of(self, call: Call) -> None:
        """No key is needed, and nothing is asked of the database."""
        name = call.path.removeprefix(health.PATH)
        if name not in ("Check", "Watch"):
            raise statuses.not_served(call.path)
        data = await call.request()
        if name == "Check":
            status = self._health.check(data)
            call.begin()
            call.send(status)
            return
        try:
            await self._health.watch(call, data)
        except RpcError as error:
            raise statuses.refused(error) from None

    async def _subscribe(self, call: Call) -> None:
        engine = self._engine
        member, caller = await engine.in_thread(access.admit, call.headers, call.peer, "Subscribe")
        await engine.in_thread(engine.members.enter, member, caller)
        try:
            await Stream(call, engine, member, caller).run()
        finally:
            with suppress(RuntimeError):  # the process stops
                leaving = engine.in_thread(engine.members.leave, member)
                await asyncio.shield(asyncio.ensure_future(leaving))

    async def _replay_info(self, _request: Any) -> Any:
        first = await self._engine.in_thread(past.first_stored)
        return schema.SubscribeReplayInfoResponse(first_available=first)

    async def _ping(self, request: Any) -> Any:
        return schema.PongResponse(count=request.count)

    async def _latest_blockhash(self, request: Any) -> Any:
        block = self._newest(request)
        return schema.GetLatestBlockhashResponse(
            slot=block.slot,
            blockhash=block.blockhash,
            last_valid_block_height=block.last_valid_block_height,
        )

    async def _block_height(self, request: Any) -> Any:
        return schema.GetBlockHeightResponse(block_height=self._newest(request).height)

    async def _slot(self, request: Any) -> Any:
        return schema.GetSlotResponse(slot=self._newest(request).slot)

    async def _is_blockhash_valid(self, request: Any) -> Any:
        block = self._newest(request)
        try:
            blockhash = str(Hash.from_string(request.blockhash))
        except ParseHashError:
            text = f"{request.blockhash[:100]!r} is no blockhash"
            raise GrpcStatus(INVALID_ARGUMENT, text) from None
        valid = self._engine.tip.accepts(block, blockhash)
        return schema.IsBlockhashValidResponse(slot=block.slot, valid=valid)

    async def _get_version(self, _request: Any) -> Any:
        found = {"package": "tidemark", "proto": SERVICE, "solana": self._version}
        return schema.GetVersionResponse(version=json.dumps({"version": found}))

    def _newest(self, request: Any) -> Block:
        # Who names no commitment means PROCESSED here, unlike in JSON-RPC.
        number = request.commitment
        if not 0 <= number < len(Level):
            raise GrpcStatus(INVALID_ARGUMENT, f"no commitment has the number {number}")
        block = self._engine.tip.newest(Level(number)) if self._engine.link.is_fed else None
        if block is None:
            raise statuses.ended("chain_not_followed")
        return block
