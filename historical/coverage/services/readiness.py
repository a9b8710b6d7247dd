"""How far the ledger is behind the clock, for /readyz."""

from typing import Any

from historical.blocks.store import blocks as store
from historical.errors import LedgerBehind


def ledger_state(*, now_seconds: float, longest_lag_seconds: int) -> dict[str, Any]:
    """`{newestSlot, blockTime, lagSeconds}`, nulls while the ledger is empty or its newest block
    has no time. Raises LedgerBehind when a longest lag is set (0: none) and not kept.
    """
    bounds = store.bounds()
    newest = None if bounds is None else store.block(bounds[1])
    time = None if newest is None else newest.block_time
    lag = None if time is None else max(0, int(now_seconds - time))
    if longest_lag_seconds and (lag is None or lag > longest_lag_seconds):
        raise LedgerBehind(lag, longest_lag_seconds)
    return {
        "newestSlot": None if newest is None else newest.slot,
        "blockTime": time,
        "lagSeconds": lag,
    }
