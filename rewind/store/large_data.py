"""Fetches a row's large data on demand: many rows at once could fill the memory."""

from psycopg.errors import UndefinedTable

from chain.units import Slot
from columns.raw_queries import fetch_one
from rewind.errors import SlotTooOld
from rewind.store import partitions


def packed_data(pubkey: bytes, slot: int, position: int) -> bytes:
    """As it is stored. Raises SlotTooOld when the row just left the window."""
    partition = partitions.partition_of(slot)
    try:
        found = fetch_one(
            f"SELECT data FROM {partition.table} WHERE pubkey = $1 AND slot = $2 AND position = $3",
            *(pubkey, slot, position),
        )
    except UndefinedTable:
        raise SlotTooOld(slot, Slot(partition.last + 1)) from None
    assert found is not None, "a row goes with its partition alone"
    data: bytes = found[0]
    return data
