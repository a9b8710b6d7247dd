"""The tables of methods: of `/`, with what the upstream node answers, `/priority` and `/bundle`."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.wire import Encoded
from priority.errors import (
    NoUpstreamNode,
    UpstreamAnswerTooLarge,
    UpstreamAnswerUnreadable,
    UpstreamBusy,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from priority.services.passing import pass_on
from upstream.passage import Passage, passage_to

# What comes where the node has no answer of its own.
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

    def serves(self, name: str) -> bool:
        return name in settings.PROXY_METHODS

    def answer(self, call: Any, calls: Sequence[tuple[str, bytes]]) -> list[Encoded | RpcError]:
        return pass_on(
            calls,
            node=upstream_node(),
            seconds=settings.PROXY_TIMEOUT_SECONDS,
            largest=max(1, call.budget.left),
        )


methods = MethodTable(elsewhere=_Node())
landing_methods = MethodTable()
bundle_methods = MethodTable()
# Where clients of a block engine call: these come before those of `/bundle` of the same name.
block_engine_methods = MethodTable()
# Where they send transactions.
block_engine_transactions = MethodTable()


def upstream_node() -> Passage:
    """The way to the upstream node; raises NoUpstreamNode."""
    if not settings.UPSTREAM_RPC_URL:
        raise NoUpstreamNode
    return passage_to(settings.UPSTREAM_RPC_URL)
