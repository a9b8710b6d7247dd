"""explainTransaction, at the path of the ledger: it reads the archive's IDLs, too."""

from solders.signature import Signature

from chain.commitment import Commitment
from gateway.calls import Call
from historical.blocks.services import bounds
from historical.configs import ContextConfig
from historical.errors import (
    BlockCleanedUp,
    BlockNotAvailable,
    CommitmentUnsupported,
    MinContextSlotNotReached,
    RemoteHistoryBusy,
    RemoteHistoryDamaged,
    RemoteHistoryUnavailable,
    SealedDataDamaged,
    SlotMissing,
    SlotSkipped,
)
from historical.methods import methods
from historical.remote.services.remote_history import RemoteReads
from rewind.explained.results import ExplainedTransaction
from rewind.explained.services.explaining import explained, result_of


@methods.add(
    "explainTransaction",
    expensive=True,
    errors=(
        MinContextSlotNotReached,
        CommitmentUnsupported,
        BlockCleanedUp,
        BlockNotAvailable,
        SlotSkipped,
        SlotMissing,
        RemoteHistoryUnavailable,
        RemoteHistoryDamaged,
        RemoteHistoryBusy,
        SealedDataDamaged,
    ),
)
def explain_transaction(
    call: Call, signature: Signature, config: ContextConfig = ContextConfig()
) -> ExplainedTransaction | None:
    """A transaction in words and figures: instructions decoded and nested, transfers, balances,
    fees, tips, compute units, and why it failed. No method of the standard node.

    signature: the transaction's signature, its first one
    config: what every method takes
    returns: what it did; null when the ledger does not have it
    """
    if config.commitment is Commitment.PROCESSED:
        raise CommitmentUnsupported
    bounds.require_context_slot(config.min_context_slot)
    found = explained(signature, RemoteReads(call.caller.key_id or call.address, call.headers))
    return None if found is None else result_of(found)
