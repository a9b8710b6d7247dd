"""The unary calls of geyser.Geyser, as a server answers them."""

import json
from typing import Any, Protocol, TypeVar

from solders.hash import Hash, ParseHashError

from upstream.grpc.status import INVALID_ARGUMENT, GrpcStatus
from upstream.protobuf import geyser_pb2 as schema

_COMMITMENTS = 3
REQUESTS = {
    "SubscribeReplayInfo": schema.SubscribeReplayInfoRequest,
    "Ping": schema.PingRequest,
    "GetLatestBlockhash": schema.GetLatestBlockhashRequest,
    "GetBlockHeight": schema.GetBlockHeightRequest,
    "GetSlot": schema.GetSlotRequest,
    "IsBlockhashValid": schema.IsBlockhashValidRequest,
    "GetVersion": schema.GetVersionRequest,
}


class Block(Protocol):
    """What the calls return of a block."""

    @property
    def slot(self) -> int: ...
    @property
    def block_height(self) -> int: ...
    @property
    def blockhash(self) -> object: ...
    @property
    def last_valid_block_height(self) -> int: ...


B = TypeVar("B", bound=Block)


class Chain(Protocol[B]):
    """What a server knows of its chain."""

    def version(self) -> dict[str, Any]: ...

    async def first_available(self) -> int | None:
        """The first slot that a replay can begin at."""

    def newest(self, commitment: int) -> B:
        """The newest block, by the number of a commitment. Raises GrpcStatus."""

    def accepts(self, block: B, blockhash: Hash) -> bool:
        """Whether a transaction that names the blockhash may come after the block."""


async def answer(chain: Chain[B], request: Any) -> Any:
    """The response to a request, one of REQUESTS. Raises GrpcStatus."""
    match request:
        case schema.SubscribeReplayInfoRequest():
            first = await chain.first_available()
            return schema.SubscribeReplayInfoResponse(first_available=first)
        case schema.PingRequest():
            return schema.PongResponse(count=request.count)
        case schema.GetVersionRequest():
            return schema.GetVersionResponse(version=json.dumps(chain.version()))
    # Without a commitment it is PROCESSED here, unlike in JSON-RPC.
    if not 0 <= request.commitment < _COMMITMENTS:
        text = f"no commitment has the number {request.commitment}"
        raise GrpcStatus(INVALID_ARGUMENT, text)
    block = chain.newest(request.commitment)
    match request:
        case schema.GetLatestBlockhashRequest():
            return schema.GetLatestBlockhashResponse(
                slot=block.slot,
                blockhash=str(block.blockhash),
                last_valid_block_height=block.last_valid_block_height,
            )
        case schema.GetBlockHeightRequest():
            return schema.GetBlockHeightResponse(block_height=block.block_height)
        case schema.GetSlotRequest():
            return schema.GetSlotResponse(slot=block.slot)
    try:
        blockhash = Hash.from_string(request.blockhash)
    except ParseHashError:
        text = f"{request.blockhash[:100]!r} is no blockhash"
        raise GrpcStatus(INVALID_ARGUMENT, text) from None
    valid = chain.accepts(block, blockhash)
    return schema.IsBlockhashValidResponse(slot=block.slot, valid=valid)
