"""Whether the upstream node keeps up with the chain."""

from typing import Literal

import msgspec

from jsonrpc.errors import RpcError
from jsonrpc.wire import encode
from priority.proxy.errors import NodeBehind, NodeError
from priority.proxy.services.forwarding import forward
from upstream.http.client import Client

NodeWord = Literal["ok", "behind", "unknown"]


class _Health(msgspec.Struct, rename="camel"):
    num_slots_behind: int | None = None


class _HealthError(msgspec.Struct):
    data: _Health | None = None


_read_health_error = msgspec.json.Decoder(_HealthError).decode


def health(*, node: Client, seconds: int) -> str:
    """`ok`; raises NodeBehind if the node reports that it is not, and UpstreamFailed."""
    (answer,) = forward([("getHealth", b"[]")], node=node, seconds=seconds)
    if isinstance(answer, NodeError):
        raise NodeBehind(_slots_behind(encode(answer.as_object())))
    if isinstance(answer, RpcError):
        raise answer
    return "ok"


def _slots_behind(error: bytes) -> int | None:
    try:
        found = _read_health_error(error)
    except msgspec.MsgspecError:
        return None
    return None if found.data is None else found.data.num_slots_behind


def word(*, node: Client, seconds: int) -> NodeWord:
    """What a node answers to GET /health (`RpcRequestMiddleware.health_check` of Agave's
    rpc/src/rpc_service.rs): `unknown` where it cannot say, or is not reached.
    """
    try:
        health(node=node, seconds=seconds)
    except NodeBehind as behind:
        return "unknown" if behind.data["numSlotsBehind"] is None else "behind"
    except RpcError:
        return "unknown"
    return "ok"
