"""What the area can refuse, each with a code and a reason."""

from typing import Any

import msgspec

from jsonrpc.errors import RpcError


class NodeError(RpcError):
    """What the upstream node answered in place of a result, passed on as it is: code, message and
    data are the node's own.
    """

    code = 0
    reason = "node_error"

    def __init__(self, error: bytes) -> None:
        super().__init__("The node answered with an error")
        self._error = error

    def as_object(self) -> Any:
        return msgspec.Raw(self._error)


class NodeBehind(RpcError):
    """The node's own health check fails: it is behind the chain by so many slots, or null."""

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
    """This installation follows no node that calls could be passed on to."""

    reason = "no_upstream_node"

    def __init__(self) -> None:
        super().__init__("No node is set to pass calls on to: UPSTREAM_RPC_URL is empty")


class UpstreamUnreachable(UpstreamFailed):
    """The upstream node does not listen, or dropped the connection."""

    reason = "upstream_unreachable"

    def __init__(self) -> None:
        super().__init__("The upstream node cannot be reached")


class UpstreamTimeout(UpstreamFailed):
    """The upstream node took too long. Whether it did what was asked is not known."""

    reason = "upstream_timeout"

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The upstream node did not answer within {seconds} s", data={"maximum": seconds}
        )


class UpstreamBusy(UpstreamFailed):
    """As many calls as may wait for the upstream node do so already; nothing was passed on."""

    reason = "upstream_busy"

    def __init__(self) -> None:
        super().__init__("Too many calls wait for the upstream node: try again")


class UpstreamAnswerUnreadable(UpstreamFailed):
    """What the upstream node answered is no JSON-RPC; its HTTP status is told."""

    reason = "upstream_answer_unreadable"

    def __init__(self, status: int) -> None:
        super().__init__(
            f"The upstream node answered HTTP {status} without a JSON-RPC answer",
            data={"found": status},
        )


class UpstreamAnswerTooLarge(UpstreamFailed):
    """The upstream node's answer is above what is passed on: ask for less."""

    reason = "upstream_answer_too_large"

    def __init__(self) -> None:
        super().__init__("The upstream node's answer is too large to be passed on: ask for less")
