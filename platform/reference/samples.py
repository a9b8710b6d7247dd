"""Values of this installation's chain, so that examples can be sent unchanged."""

import json
import logging
import time
from typing import Any

from django.db import DatabaseError
from solders.signature import Signature

from chain.commitment import BlockOptions, TransactionDetails, TransactionEncoding
from historical.blocks.services import blocks, bounds
from historical.transactions.services import transactions
from jsonrpc.errors import RpcError
from rewind.recording.store.slots import bounds as archive_bounds

log = logging.getLogger(__name__)

# Placeholders of examples that no chain has values for: what the reader sent, or signed.
READERS_OWN = (
    "signed",
    "signed_plain",
    "signed_alone",
    "signed_first",
    "signed_second",
    "submitted",
    "bundle_id",
    "tip_address",
    "job_id",
)
_KEPT_SECONDS = 60.0
# How many slots back from the newest one are searched for a block with a transaction.
_LOOKED_AT = 40
_found: tuple[float, dict[str, Any]] = (0.0, {})


def samples() -> dict[str, Any]:
    """Values for the examples' placeholders; empty while ledger or archive are empty."""
    global _found
    now = time.monotonic()
    if not _found[1] or now - _found[0] > _KEPT_SECONDS:
        try:
            _found = (now, _look())
        except (DatabaseError, RpcError) as problem:
            log.info("no samples: %s", type(problem).__name__)
            return {}
    return _found[1]


def forget() -> None:
    """Clears the cache, for tests with short-lived chains."""
    global _found
    _found = (0.0, {})


def _look() -> dict[str, Any]:
    newest = bounds.newest_slot_or_none()
    archived = archive_bounds()
    if newest is None or archived is None:
        return {}
    newest = min(newest, archived[1])
    first = max(newest - _LOOKED_AT, archived[0], 0)
    for slot in reversed(blocks.slots_between(first, newest)):
        block = blocks.block(
            slot, BlockOptions(details=TransactionDetails.SIGNATURES, rewards=False)
        )
        signatures = json.loads(bytes(block))["signatures"]
        if signatures:
            return _of(signatures[-1], slot, first)
    return {}


def _of(text: str, slot: int, first: int) -> dict[str, Any]:
    signature = Signature.from_string(text)
    encodings = (TransactionEncoding.JSON, TransactionEncoding.BASE64)
    plain, wire = (
        transactions.transaction(signature, encoding=encoding, max_version=0)
        for encoding in encodings
    )
    if plain is None or wire is None:
        return {}
    message = json.loads(bytes(plain))["transaction"]["message"]
    return {
        "signature": text,
        "slot": slot,
        "earlier_slot": first,
        "address": message["accountKeys"][0],
        "transaction": json.loads(bytes(wire))["transaction"][0],
    }
