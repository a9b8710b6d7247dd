"""A transaction of the ledger in words, for the portal and the admin."""

import msgspec
from solders.signature import Signature

from chain.commitment import TransactionEncoding
from chain.explained.transactions import Explanation, explain
from historical.services.transactions import transaction

_ANY_VERSION = 255


def explained(signature: Signature) -> Explanation | None:
    """What became of it and why; None where the ledger does not have it, or not its status.
    Raises SealedDataDamaged.
    """
    text = transaction(signature, encoding=TransactionEncoding.JSON, max_version=_ANY_VERSION)
    if text is None:
        return None
    entry = msgspec.json.decode(bytes(text))
    return None if entry["meta"] is None else explain(entry)
