"""Blocks whose transactions were all signed, and those that are kept although one was not."""

from dataclasses import replace
from typing import NamedTuple

from chain.blocks import SlotRecord, TransactionRecord
from chain.signed import Signatures, duplicates_among, unsigned_among
from historical.errors import NotSigned

# The member of an unsigned transaction's meta: it is served wherever the meta is.
MARK = "unsigned"


class SignedBlock(NamedTuple):
    """A block that may be recorded, and the indexes of its transactions that are marked."""

    record: SlotRecord
    marked: list[int]


def require_signed(record: SlotRecord, signatures: Signatures) -> SignedBlock:
    """Raises NotSigned where a transaction is in the block twice, whatever `signatures` says, or
    where one is not signed and must be. A transaction without a meta cannot be marked.
    """
    duplicates = list(duplicates_among(record.transactions))
    if duplicates:
        raise NotSigned(record.slot, duplicates)
    if signatures is Signatures.UNVERIFIED:
        return SignedBlock(record, [])
    found = list(unsigned_among(record.transactions))
    if not found:
        return SignedBlock(record, [])
    indexes = [each.position for each in found]
    if signatures is Signatures.REFUSE or any(
        record.transactions[index].meta is None for index in indexes
    ):
        raise NotSigned(record.slot, found)
    transactions = list(record.transactions)
    for index in indexes:
        transactions[index] = _marked(transactions[index])
    return SignedBlock(replace(record, transactions=transactions), indexes)


def _marked(transaction: TransactionRecord) -> TransactionRecord:
    return replace(transaction, meta={**(transaction.meta or {}), MARK: True})
