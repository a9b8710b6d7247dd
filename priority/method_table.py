"""The tables of methods: of `/`, with those of the upstream node, `/priority` and `/bundle`."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from eventloop.faces import complete
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable, Pieces
from jsonrpc.wire import Encoded
from priority.proxy.errors import (
    NoUpstreamNode,
    UpstreamAnswerTooLarge,
    UpstreamAnswerUnreadable,
    UpstreamBusy,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from priority.proxy.services.advising import advice_headers
from priority.proxy.services.forwarding import forward
from priority.proxy.services.streaming import stream_result
from upstream.connection_pools import AsyncConnectionPool, async_pool_for, pool_for
from upstream.http.client import Client

# Errors in place of the node's own answer.
NODE_ERRORS = (
    NoUpstreamNode,
    UpstreamUnreachable,
    UpstreamTimeout,
    UpstreamBusy,
    UpstreamAnswerUnreadable,
    UpstreamAnswerTooLarge,
)


class _Node:
    """The upstream node, for the methods of the setting."""

    def names(self) -> frozenset[str]:
        found: frozenset[str] = settings.PROXY_METHODS
        return found

    def answer(self, call: Any, calls: Sequence[tuple[str, bytes]]) -> list[Encoded | RpcError]:
        for each in calls:
            call.headers.update(complete(advice_headers(*each)))
        return forward(
            calls,
            node=upstream_node(),
            seconds=settings.PROXY_TIMEOUT_SECONDS,
            largest=max(1, call.budget.left),
        )

    async def ask(self, call: Any, method: str, params: bytes) -> Encoded | Pieces:
        call.headers.update(await advice_headers(method, params))
        return await stream_result(
            (method, params),
            node=upstream_node_of_loop(),
            seconds=settings.PROXY_TIMEOUT_SECONDS,
            holder=call.address if call.caller.key_id is None else call.caller.key_id,
        )


methods = MethodTable(fallback=_Node())
landing_methods = MethodTable()
bundle_methods = MethodTable()
# Where clients of a block engine call: these come before those of `/bundle` of the same name.
block_engine_methods = MethodTable()
# Where they send transactions.
block_engine_transactions = MethodTable()


def upstream_node() -> Client:
    """The client of the upstream node; raises NoUpstreamNode."""
    return pool_for(_node_url())


def upstream_node_of_loop() -> AsyncConnectionPool:
    """Its client for the running event loop."""
    return async_pool_for(_node_url(), most=settings.PROXY_CONNECTIONS)


def _node_url() -> str:
    url: str = settings.UPSTREAM_RPC_URL
    if not url:
        raise NoUpstreamNode
    return url
