"""The service geyser.Geyser: its calls, on a port of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from django.conf import settings
from solders.hash import Hash

from gateway.addresses import is_trusted
from grpcserver.bounds import Bounds
from grpcserver.call import Call
from grpcserver.serving import serving
from jsonrpc.errors import RpcError
from livefeed.messages import Level
from shared_state.outages import AWAY
from upstream.geyser import SERVICE, unary_calls
from upstream.geyser.unary_calls import REQUESTS
from upstream.grpc.status import UNIMPLEMENTED, GrpcStatus
from webserver.limits import Limits, raised_file_limit
from yellowstone import access, health, past, statuses
from yellowstone.engine import Engine
from yellowstone.streams import Stream
from yellowstone.tip import Block

_PATH = f"/{SERVICE}/"
_NEED_SHREDS_OR_GOSSIP = ("SubscribeDeshred", "SubscribeGossip")


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

    async def answer(self, call: Call) -> None:
        """Answers a call, or raises its GrpcStatus."""
        if call.path.startswith(health.PATH):
            await self._health_of(call)
            return
        name = call.path.removeprefix(_PATH)
        is_known = name in REQUESTS or name in ("Subscribe", *_NEED_SHREDS_OR_GOSSIP)
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
        request = await call.read(REQUESTS[name])
        try:
            call.reply(await unary_calls.answer(self, request))
        except AWAY:
            raise statuses.ended("sockets_unavailable") from None
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

    # --- what unary calls ask ---------------------------------------------------------------------

    def version(self) -> dict[str, Any]:
        found = {"package": "tidemark", "proto": SERVICE, "solana": self._version}
        return {"version": found}

    async def first_available(self) -> int | None:
        return await self._engine.in_thread(past.first_stored)

    def newest(self, commitment: int) -> Block:
        block = self._engine.tip.newest(Level(commitment)) if self._engine.link.is_fed else None
        if block is None:
            raise statuses.ended("chain_not_followed")
        return block

    def accepts(self, block: Block, blockhash: Hash) -> bool:
        return self._engine.tip.accepts(block, str(blockhash))
