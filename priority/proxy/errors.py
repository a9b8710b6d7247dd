"""Errors of calls that the upstream node answers."""

from typing import Any

import msgspec

from jsonrpc.errors import RpcError


class NodeError(RpcError):
    """The upstream node responded with this error: code, message and data are the node's own."""

    code = 0
    reason = "node_error"

    def __init__(self, error: bytes) -> None:
        super().__init__("The node responded with an error")
        self._error = error

    def as_object(self) -> Any:
        return msgspec.Raw(self._error)


class NodeBehind(RpcError):
    """The node's own health check fails: it is `numSlotsBehind` slots behind the chain, or null if
    unknown.
    """

    code = -32005
    reason = "node_behind"

    def __init__(self, slots: int | None) -> None:
        text = "Node is unhealthy" if slots is None else f"Node is behind by {slots} slots"
        super().__init__(text, data={"numSlotsBehind": slots})


class UpstreamFailed(RpcError):
    """No answer came from the upstream node."""

    code = -32005
    reason = "upstream_failed"
    abstract = True


class NoUpstreamNode(UpstreamFailed):
    """This installation has no node to pass the call on to."""

    reason = "no_upstream_node"
    text = "No node is set to pass calls on to: UPSTREAM_RPC_URL is empty"


class UpstreamUnreachable(UpstreamFailed):
    """The upstream node does not listen, or dropped the connection."""

    reason = "upstream_unreachable"
    text = "The upstream node is unreachable"


class UpstreamTimeout(UpstreamFailed):
    """The upstream node took too long. It may or may not have done what the call asks."""

    reason = "upstream_timeout"

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The upstream node did not respond within {seconds} s", data={"maximum": seconds}
        )


class UpstreamBusy(UpstreamFailed):
    """Too many calls already wait for the upstream node; nothing was passed on."""

    reason = "upstream_busy"
    text = "Too many calls wait for the upstream node. Try again"


class UpstreamAnswerUnreadable(UpstreamFailed):
    """The upstream node's response is not JSON-RPC; `found` is its HTTP status."""

    reason = "upstream_answer_unreadable"

    def __init__(self, status: int) -> None:
        super().__init__(
            f"The upstream node returned HTTP {status} without a JSON-RPC response",
            data={"found": status},
        )


class UpstreamAnswerTooLarge(UpstreamFailed):
    """The upstream node's response is too large to pass on: request less."""

    reason = "upstream_answer_too_large"
    text = "The upstream node's response is too large to pass on. Request less"
