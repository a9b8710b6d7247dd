"""Queries on the address index."""

from columns.raw_queries import fetch_all
from historical.segments import SEGMENT_SLOTS


def entries_below(digest: bytes, slot: int, rows: int) -> list[tuple[int, bytes]]:
    """(first_slot, packed entries) of the newest rows that begin below the slot, descending."""
    return fetch_all(
        "SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = $1 AND first_slot < $2 ORDER BY first_slot DESC LIMIT $3",
        digest,
        slot,
        rows,
    )


def newest_entries(digest: bytes, enough: int, slot: int, rows: int) -> list[tuple[int, bytes]]:
    """The same, up to the segment in which so many entries are reached: an address may have them in
    many rows or in one.
    """
    return fetch_all(
        "SELECT first_slot, entries FROM (SELECT first_slot, entries, sum(octet_length(entries))"
        f" OVER (ORDER BY first_slot / {SEGMENT_SLOTS} DESC"
        " GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS newer FROM ("
        " SELECT first_slot, entries FROM historical_addressentries"
        " WHERE address = $1 AND first_slot < $2 ORDER BY first_slot DESC LIMIT $3) AS listed"
        ") AS counted WHERE newer IS NULL OR newer < $4 ORDER BY first_slot DESC",
        digest,
        slot,
        rows,
        4 * enough,
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
