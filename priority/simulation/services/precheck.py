"""Simulation before acceptance: a bundle that must fail is refused."""

import logging
from collections.abc import Sequence

from solders.transaction import VersionedTransaction

from chain.commitment import Commitment
from chain.nonces import misplaced_advance, stands_on_nonce, why_misplaced
from chain.transaction_error_text import transaction_error_text
from chain.transactions import decode_wire
from jsonrpc.errors import RpcError
from priority.acceptance.errors import BlockhashNotFound, BundleSimulationFailed
from priority.acceptance.services.foreseen import why_it_fails
from priority.simulation.services.bundles import Bundle, try_now
from priority.simulation.services.unknown_blockhash import is_of_no_block
from upstream.http.client import Client

log = logging.getLogger(__name__)

# Not proof of a bad bundle: the node may not have that block yet.
_BLOCKHASH_NOT_FOUND = "BlockhashNotFound"


def require_success(wires: Sequence[bytes], *, node: Client, timeout_seconds: int) -> None:
    """Raises BundleSimulationFailed where a transaction fails on the node's newest state, and
    BlockhashNotFound where no block has its blockhash; without a clear result it returns.
    """
    transactions = [VersionedTransaction.from_bytes(wire) for wire in wires]
    bundle = Bundle(transactions=transactions, any_blockhash=False, shown=frozenset())
    try:
        tried = try_now(
            bundle, node=node, commitment=Commitment.PROCESSED, timeout_seconds=timeout_seconds
        )
    except RpcError as error:
        log.info("a bundle is accepted without a simulation: %s", error.reason)
        return
    index = len(tried.outcomes) - 1
    outcome = tried.outcomes[index]
    if outcome.err is None:
        return
    if outcome.err == _BLOCKHASH_NOT_FOUND:
        # Nor is a used nonce: the transaction may hold the next one.
        blockhash = transactions[index].message.recent_blockhash
        wire = decode_wire(wires[index])
        if not stands_on_nonce(wire) and is_of_no_block(
            bytes(blockhash), newest=bytes(tried.blockhash)
        ):
            signature = str(transactions[index].signatures[0])
            place = misplaced_advance(wire)
            why = "" if place is None else why_misplaced(place)
            raise BlockhashNotFound(index, signature, str(blockhash), why=why)
        return
    raise BundleSimulationFailed(
        index,
        str(transactions[index].signatures[0]),
        text=transaction_error_text(outcome.err),
        err=outcome.err,
        logs=outcome.logs,
        why=why_it_fails(decode_wire(wires[index])),
    )
