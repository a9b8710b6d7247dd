"""Errors of the ledger: the standard node's codes and texts, each with a reason."""

from collections.abc import Sequence

from chain.node_version import BASE58_REFUSED
from chain.signed import Unsigned
from chain.slot_ranges import SlotRange
from chain.units import Slot
from gateway.health import NotReady
from jsonrpc.errors import InvalidParams, RpcError

# Of the transactions of a block that are not what was signed, how many are named.
_NAMED = 3


class BlockCleanedUp(RpcError):
    """The slot is below the first stored block."""

    code = -32001
    reason = "block_cleaned_up"

    def __init__(self, slot: Slot, first_available: Slot) -> None:
        super().__init__(
            f"Block {slot} cleaned up, does not exist on node."
            f" First available block: {first_available}",
            data={"slot": slot, "firstAvailableBlock": first_available},
        )


class BlockNotAvailable(RpcError):
    """The slot is above the newest stored block."""

    code = -32004
    reason = "block_not_available"

    def __init__(self, slot: Slot, newest: Slot | None) -> None:
        super().__init__(
            f"Block not available for slot {slot}", data={"slot": slot, "newestSlot": newest}
        )


class SlotSkipped(RpcError):
    """The leader produced no block: the parent link of a later block proves it."""

    code = -32007
    reason = "slot_skipped"

    def __init__(self, slot: Slot) -> None:
        super().__init__(
            f"Slot {slot} was skipped, or missing due to ledger jump to recent snapshot",
            data={"slot": slot},
        )


class SlotMissing(RpcError):
    """The ledger has no block for the slot, and no proof that the slot was skipped."""

    code = -32009
    reason = "slot_missing"

    def __init__(self, slot: Slot) -> None:
        super().__init__(
            f"Slot {slot} was skipped, or missing in long-term storage", data={"slot": slot}
        )


class RangeHasGaps(RpcError):
    """Slots of the range are missing in the ledger, and the call requested an error in that case.
    `gaps` lists at most 100 runs of them, lowest first; `truncated` is true if there are more.
    """

    code = -32009
    reason = "range_has_gaps"

    def __init__(self, gaps: Sequence[SlotRange], *, truncated: bool) -> None:
        runs = [f"{first} to {last}" for first, last in gaps[:3]]
        runs += ["and others"] if truncated or len(gaps) > 3 else []
        super().__init__(
            f"Slots {', '.join(runs)} were skipped, or missing in long-term storage",
            data={
                "gaps": [{"fromSlot": first, "toSlot": last} for first, last in gaps],
                "truncated": truncated,
            },
        )


class LedgerEmpty(RpcError):
    """No block is stored yet."""

    code = -32011
    reason = "ledger_empty"
    text = "Transaction history is not available from this node"


class UnsupportedTransactionVersion(RpcError):
    """The response contains a versioned transaction, and the caller did not say that it can read
    one.
    """

    code = -32015
    reason = "unsupported_transaction_version"

    def __init__(self, version: int) -> None:
        super().__init__(
            f"Transaction version ({version}) is not supported by the requesting client. Please"
            " try the request again with the following configuration parameter:"
            f' "maxSupportedTransactionVersion": {version}',
            data={"found": version},
        )


class MinContextSlotNotReached(RpcError):
    """The ledger's newest slot is below the caller's `minContextSlot`."""

    code = -32016
    reason = "min_context_slot_not_reached"

    def __init__(self, newest: Slot, required: Slot) -> None:
        super().__init__(
            "Minimum context slot has not been reached",
            data={"contextSlot": newest, "required": required},
        )


class FilterTransactionNotFound(RpcError):
    """The transaction that `before` or `until` names is not in the ledger."""

    code = -32020
    reason = "filter_transaction_not_found"

    def __init__(self, name: str, signature: str) -> None:
        super().__init__(
            f"Transaction {signature}, given as `{name}`, was not found",
            data={"parameter": name, "signature": signature},
        )


class CommitmentUnsupported(InvalidParams):
    """The ledger has finalized blocks only: it does not support a commitment below `confirmed`."""

    reason = "commitment_unsupported"

    def __init__(self) -> None:
        super().__init__(
            "Method does not support commitment below `confirmed`",
            required="confirmed",
            found="processed",
        )


class Base58Unsupported(InvalidParams):
    """The caller accepts version 1 transactions, which are too long for base58."""

    reason = "base58_unsupported"

    def __init__(self, max_version: int | None) -> None:
        super().__init__(BASE58_REFUSED, maximum=0, found=max_version)


class LimitInvalid(InvalidParams):
    """The limit is outside its range."""

    reason = "limit_invalid"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(f"Invalid limit; max {maximum}", minimum=1, maximum=maximum, found=found)


class RangeTooLarge(InvalidParams):
    """The range, or the count, of slots is above the maximum."""

    reason = "range_too_large"

    def __init__(self, what: str, found: int, maximum: int) -> None:
        super().__init__(f"{what} too large; max {maximum}", maximum=maximum, found=found)


class TooManySignatures(InvalidParams):
    """The call names too many signatures."""

    reason = "too_many_signatures"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(f"Too many inputs provided; max {maximum}", maximum=maximum, found=found)


class BadPaginationToken(InvalidParams):
    """The token does not come from this method, or belongs to other filters."""

    reason = "bad_pagination_token"

    def __init__(self, text: str) -> None:
        super().__init__(f"Invalid pagination token: {text}")


class FilterUnsupported(InvalidParams):
    """The standard node supports this value, but this method does not."""

    reason = "filter_unsupported"

    def __init__(self, name: str, found: str, expected: str) -> None:
        super().__init__(
            f"Invalid params: {name} `{found}` is not supported, expected one of: {expected}",
            parameter=name,
            found=found,
        )


class RemoteHistoryUnavailable(RpcError):
    """The archive of remote history cannot be read at the moment."""

    code = -32019
    reason = "remote_history_unavailable"

    def __init__(self, slot: int | None) -> None:
        super().__init__(
            "Failed to query long-term storage; please try again",
            data=None if slot is None else {"slot": slot},
        )


class RemoteHistoryDamaged(RpcError):
    """The archive's data does not match its hashes and indexes, the signatures, or this chain."""

    code = -32019
    reason = "remote_history_damaged"

    def __init__(self, slot: int | None) -> None:
        super().__init__(
            "Failed to query long-term storage: its data is damaged",
            data=None if slot is None else {"slot": slot},
        )


class RemoteHistoryBusy(RpcError):
    """Too many calls, of this caller or of all, already wait for the archive of remote history."""

    code = -32005
    reason = "remote_history_busy"

    def __init__(self) -> None:
        super().__init__(
            "Too many calls wait for long-term storage. Try again", data={"retryAfterSeconds": 2}
        )


class SealedDataDamaged(RpcError):
    """Some sealed data failed its checksum, or is gone. The response and the log name it; the
    operator can fetch the slots again, or restore them.
    """

    code = -32603
    reason = "sealed_data_damaged"

    def __init__(self, what: str) -> None:
        super().__init__(f"Sealed data of the ledger is damaged: {what}", data={"damaged": what})


class LedgerBehind(NotReady):
    """The newest block is older than an operator said it may be."""

    def __init__(self, lag: int | None, longest: int) -> None:
        found = "the ledger is empty" if lag is None else f"the newest block is {lag} s old"
        super().__init__(f"{found}; READY_MAX_LAG_SECONDS is {longest}")


class BlockConflict(Exception):
    """A block to be recorded differs from the one that the ledger has for its slot."""

    def __init__(self, slot: Slot, stored: str, found: str) -> None:
        super().__init__(f"slot {slot} already has {stored}; the file has {found}")
        self.slot = slot


class BadBlock(Exception):
    """A block that cannot be recorded; the text names the slot and the place."""


class NotSigned(BadBlock):
    """A block with transactions that their signers did not sign, or that it has twice. The text
    names the first three of them, and says how many more there are.
    """

    def __init__(self, slot: Slot, found: Sequence[Unsigned]) -> None:
        named = "; ".join(str(each) for each in found[:_NAMED])
        more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        super().__init__(f"slot {slot}, {named}{more}")
        self.slot = slot
        self.found = found
