"""What is known to fail before it is sent: version 1 transactions that ask for too little, and
those that advance a nonce too late to use it.
"""

from collections.abc import Sequence
from typing import Any

import redis

from chain.nonces import misplaced_advance, why_misplaced
from chain.transaction_settings import BadSettings, settings_of_wire
from chain.transactions import Wire
from eventloop.faces import in_thread
from priority.chain_events import BLOCKHASHES
from shared_state.redis_client import client

WILL_FAIL = "will_fail"
NONCE_NOT_FIRST = "nonce_not_first"


def why_it_fails(wire: Wire) -> str:
    """Why the transaction fails whatever the accounts are, as a sentence; empty unless it does. A
    version 1 transaction gets no size of loaded accounts and no compute units unless it asks for
    them (SIMD-0385).
    """
    if wire.version != 1:
        return ""
    try:
        err = settings_of_wire(wire).will_fail
    except BadSettings:
        return ""
    if err == "MaxLoadedAccountsDataSizeExceeded":
        return (
            "it asks for no loadedAccountsDataSizeLimit, and version 1 has no default: it fails at"
            " loading with MaxLoadedAccountsDataSizeExceeded, and pays the fee"
        )
    if err is None:
        return ""
    return (
        "it asks for no computeUnitLimit, and version 1 has no default: it fails at its first"
        f" instruction with {err}, and pays the fee"
    )


async def advice(wires: Sequence[Wire]) -> str:
    """The header `X-Advice` of what was accepted and will fail, or advances a nonce too late; empty
    for all else.
    """
    many = len(wires) > 1
    found: dict[str, list[str]] = {}
    for index, wire in enumerate(wires):
        unknown = "" if misplaced_advance(wire) is None else await in_thread(_why_unknown, wire)
        for word, why in ((WILL_FAIL, why_it_fails(wire)), (NONCE_NOT_FIRST, unknown)):
            if why:
                found.setdefault(word, []).append(f"transaction {index}: {why}" if many else why)
    return "; ".join(f"{word}: {'; '.join(why)}" for word, why in found.items())


def _why_unknown(wire: Wire) -> str:
    """Why no block has its blockhash, if it advances a nonce without standing on it."""
    index = misplaced_advance(wire)
    if index is None:
        return ""
    try:
        is_known: Any = client().hexists(BLOCKHASHES, wire.recent_blockhash)
    except redis.RedisError:
        return ""
    return "" if is_known else why_misplaced(index)
