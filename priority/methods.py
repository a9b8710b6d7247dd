"""The methods at `/`: our own, and the standard ones that the upstream node answers."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from gateway.endpoint import Call
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.wire import Encoded
from priority import services
from priority.errors import NoUpstreamNode
from upstream.passage import Passage, passage_to


class _Node:
    """The upstream node, for the methods of the setting."""

    def serves(self, name: str) -> bool:
        return name in settings.PROXY_METHODS

    def answer(self, call: Any, calls: Sequence[tuple[str, bytes]]) -> list[Encoded | RpcError]:
        return services.pass_on(calls, node=_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)


methods = MethodTable(elsewhere=_Node())


@methods.add("getHealth")
def get_health(call: Call) -> str:
    return services.health(node=_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)


def _node() -> Passage:
    if not settings.UPSTREAM_RPC_URL:
        raise NoUpstreamNode
    return passage_to(settings.UPSTREAM_RPC_URL)
