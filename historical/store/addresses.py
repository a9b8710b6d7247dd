"""Queries on the address index."""

from columns.raw_queries import fetch_all


def entries_below(digest: bytes, slot: int, rows: int) -> list[tuple[int, bytes]]:
    """(first_slot, packed entries) of the newest rows that begin below the slot, descending."""
    return fetch_all(
        "SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = $1 AND first_slot < $2 ORDER BY first_slot DESC LIMIT $3",
        digest,
        slot,
        rows,
    )


def entries_from(digest: bytes, slot: int, rows: int) -> list[tuple[int, bytes]]:
    """(first_slot, packed) of the oldest rows that begin at a slot or above, ascending."""
    return fetch_all(
        "SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = $1 AND first_slot >= $2 ORDER BY first_slot LIMIT $3",
        digest,
        slot,
        rows,
    )
