"""Errors of localnet's JSON-RPC: the standard node's codes, texts and data."""

from typing import Any

from solders.pubkey import Pubkey

from chain.units import Slot
from jsonrpc.errors import RpcError


class NodeError(RpcError):
    """An error exactly as a node writes it: without a reason of ours."""

    abstract = True

    def __init__(self, message: str = "", data: Any = None) -> None:
        super().__init__(message)
        self.node_data = data

    def as_object(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.node_data is not None:
            answer["data"] = self.node_data
        return answer


class BadParams(NodeError):
    code = -32602


class SlotReached(BadParams):
    """A warp to a slot that the chain has had already."""

    def __init__(self, slot: Slot, first: Slot) -> None:
        super().__init__(f"cannot warp to slot {slot}: the chain's next free slot is {first}")


class SlotTooHigh(BadParams):
    """A warp to a slot above those that a chain can have."""

    def __init__(self, slot: Slot, highest: Slot) -> None:
        super().__init__(f"cannot warp to slot {slot}: the highest is {highest}")


class ClockRunsForward(BadParams):
    """A time that the chain has passed, or never reaches."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(f"unixTimestamp: expected {first} (the newest block's) to {last}")


class BadRequest(NodeError):
    code = -32600


class BlockCleanedUp(NodeError):
    code = -32001

    def __init__(self, slot: Slot, first: Slot) -> None:
        super().__init__(
            f"Block {slot} cleaned up, does not exist on node. First available block: {first}"
        )


class PreflightFailed(NodeError):
    code = -32002

    def __init__(self, text: str, simulation: dict[str, Any]) -> None:
        super().__init__(f"Transaction simulation failed: {text}", simulation)


class SignatureVerificationFailed(NodeError):
    code = -32003
    text = "Transaction signature verification failure"


class BlockNotAvailable(NodeError):
    code = -32004

    def __init__(self, slot: Slot) -> None:
        super().__init__(f"Block not available for slot {slot}")


class NodeBehind(NodeError):
    """More transactions wait than can land."""

    code = -32005

    def __init__(self) -> None:
        super().__init__("Node is unhealthy", {"numSlotsBehind": None})


class SlotSkipped(NodeError):
    code = -32007

    def __init__(self, slot: Slot) -> None:
        super().__init__(
            f"Slot {slot} was skipped, or missing due to ledger jump to recent snapshot"
        )


class NoSnapshot(NodeError):
    code = -32008
    text = "No snapshot"


class BlockStatusNotAvailableYet(NodeError):
    code = -32014

    def __init__(self, slot: Slot) -> None:
        super().__init__(f"Block status not yet available for slot {slot}")


class UnsupportedTransactionVersion(NodeError):
    code = -32015

    def __init__(self, version: int) -> None:
        super().__init__(
            f"Transaction version ({version}) is not supported by the requesting client. Please"
            " try the request again with the following configuration parameter:"
            f' "maxSupportedTransactionVersion": {version}'
        )


class LeaderNotFound(NodeError):
    """The identity leads no slot of the epoch."""

    code = -32022

    def __init__(self, identity: Pubkey) -> None:
        super().__init__(f"Node {identity} was not in the leader schedule for specified epoch")


class MinContextSlotNotReached(NodeError):
    code = -32016

    def __init__(self, slot: Slot) -> None:
        super().__init__("Minimum context slot has not been reached", {"contextSlot": slot})
