"""Queries on the address index."""

from historical.store.connections import fetch_all


def entries_below(digest: bytes, slot: int, rows: int) -> list[tuple[int, bytes]]:
    """(first_slot, packed entries) of the newest rows that begin below the slot, descending."""
    return fetch_all(
        "SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = %s AND first_slot < %s ORDER BY first_slot DESC LIMIT %s",
        (digest, slot, rows),
    )


def entries_from(digest: bytes, slot: int, rows: int) -> list[tuple[int, bytes]]:
    """(first_slot, packed) of the oldest rows that begin at a slot or above, ascending."""
    return fetch_all(
        "SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = %s AND first_slot >= %s ORDER BY first_slot LIMIT %s",
        (digest, slot, rows),
    )
