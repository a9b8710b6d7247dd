"""Parts of queries that the archive joins with its own, so that both take one round trip."""


def place(signature: str) -> str:
    """The slot and the position of the transaction; no row where the ledger does not have it, or
    has sealed it (store.transactions.place_of finds both).
    """
    return (
        f"SELECT slot, position FROM historical_transaction WHERE signature = {signature} LIMIT 1"
    )


def transaction_count(slot: str) -> str:
    """How many transactions the slot's block has; null if the ledger has no block."""
    return f"(SELECT transaction_count FROM historical_block WHERE slot = {slot})"
