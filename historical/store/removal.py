"""Deletes blocks and their index entries."""

from columns.raw_queries import raw_connection


def delete_blocks(first: int, last: int) -> list[tuple[int, int]]:
    """Deletes the slots' blocks and transactions; (slot, parent slot) of those that there were."""
    bounds = (first, last)
    with raw_connection().cursor() as cursor:
        cursor.execute("DELETE FROM historical_transaction WHERE slot BETWEEN %s AND %s", bounds)
        cursor.execute(
            "DELETE FROM historical_block WHERE slot BETWEEN %s AND %s RETURNING slot, parent_slot",
            bounds,
        )
        return [(slot, parent) for slot, parent in cursor.fetchall()]


def take_entries(first: int, end: int) -> list[tuple[int, bytes, bytes]]:
    """Deletes the address entries that begin in the slots: (first_slot, address, packed)."""
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "DELETE FROM historical_addressentries WHERE first_slot >= %s AND first_slot < %s"
            " RETURNING first_slot, address, entries",
            (first, end),
        )
        return [(slot, bytes(address), bytes(packed)) for slot, address, packed in cursor]
