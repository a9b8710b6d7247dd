"""A transaction of the ledger in words, for the portal and the admin."""

from typing import Any

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
    entry = entry_of(signature)
    return None if entry is None or entry["meta"] is None else explain(entry)


def entry_of(signature: Signature) -> dict[str, Any] | None:
    """As getTransaction returns it in the encoding `json`; None where the ledger does not have it.
    Raises SealedDataDamaged.
    """
    text = transaction(signature, encoding=TransactionEncoding.JSON, max_version=_ANY_VERSION)
    if text is None:
        return None
    entry: dict[str, Any] = msgspec.json.decode(bytes(text))
    return entry
