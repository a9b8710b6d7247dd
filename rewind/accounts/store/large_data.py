"""Fetches a row's large data on demand: many rows at once could fill the memory."""

from django.db import connection
from psycopg.errors import UndefinedTable

from chain.units import Slot
from columns.packed_data import as_stored
from columns.raw_queries import fetch_one
from rewind.accounts.store import slot_lookup
from rewind.errors import SlotTooOld
from rewind.positions import Position
from rewind.recording.store import partitions
from rewind.recording.store.partitions import Layout
from rewind.sealed.store import sealed_reads


def packed_data(pubkey: bytes, slot: int, position: int) -> bytes:
    """As it is stored. Raises SlotTooOld when the row just left the window."""
    partition = partitions.partition_of(slot)
    for _ in range(2):
        layout = partitions.layout(slot_lookup.look_up_slot(slot).layout)
        found = _read(layout, pubkey, Position(slot, position))
        if found is not None:
            return found
        partitions.forget()  # its partition is gone, or was sealed just now
    raise SlotTooOld(slot, Slot(partition.last + 1))


def _read(layout: Layout, pubkey: bytes, place: Position) -> bytes | None:
    segment = layout.by_number.get(partitions.segment_of(place.slot))
    if segment is None:
        return None
    for each in segment.partitions:
        if each.first <= place.slot <= each.last:
            try:
                found = fetch_one(
                    f"SELECT data FROM {each.table} WHERE pubkey = $1 AND slot = $2"
                    " AND position = $3",
                    pubkey,
                    *place,
                )
            except UndefinedTable:
                if connection.in_atomic_block:  # which is lost with the error
                    raise
                return None
            if found is not None:
                data: bytes = found[0]
                return data
    changes = sealed_reads.at_places([(pubkey, place)], segment.sealed)
    return as_stored(changes[0].data) if changes else None
