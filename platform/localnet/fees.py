"""Fees of a transaction, and who receives them."""

from solders.message import VersionedMessage
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.addresses import PRECOMPILES
from localnet.sysvars import LAMPORTS_PER_SIGNATURE
from simulator.budget import read_budget
from simulator.errors import Refused
from simulator.parts import take_apart


def signature_count(message: VersionedMessage) -> int:
    """The signatures that are paid for."""
    count: int = message.header.num_required_signatures
    for instruction in message.instructions:
        index = instruction.program_id_index
        if index < len(message.account_keys) and message.account_keys[index] in PRECOMPILES:
            count += instruction.data[0] if instruction.data else 0
    return count


def leader_share(fee: int, message: VersionedMessage) -> int:
    """What the leader receives of a fee: half of what the signatures cost and all the priority
    fee; the rest is burned.
    """
    signatures = LAMPORTS_PER_SIGNATURE * signature_count(message)
    return fee - signatures // 2


def fee_of(message: VersionedMessage) -> int:
    """What a transaction with this message pays: for its signatures and for its priority.
    solders' SanitizeError where the message makes no sense.
    """
    count = message.header.num_required_signatures
    transaction = VersionedTransaction.populate(message, [Signature.default()] * count)
    transaction.sanitize()
    try:
        return read_budget(take_apart(transaction)).fee
    except Refused:  # its budget cannot be read: it would not run
        return LAMPORTS_PER_SIGNATURE * signature_count(message)
