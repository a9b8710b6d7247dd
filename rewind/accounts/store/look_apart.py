"""An account's state with all that its slot says, in the form of a cluster: each statement has one
spread table or the coordinator's own, and all of them take one round trip.
"""

from django.db import connection
from psycopg.errors import UndefinedTable

from columns.raw_queries import fetch_together
from historical.blocks.store import query_parts
from rewind.accounts.store import slot_lookup, states
from rewind.accounts.store.slot_lookup import SlotLookup
from rewind.accounts.store.states import State
from rewind.positions import Position
from rewind.recording.store import partitions
from rewind.recording.store.partitions import Segment
from rewind.sealed.store import sealed_reads

# How many transactions the block of the slot $1 has.
TRANSACTION_COUNT = f"SELECT {query_parts.transaction_count('$1')}"


def in_segment(
    pubkey: bytes, position: Position, segment: Segment, *, with_block: bool
) -> tuple[SlotLookup, State | None, int | None] | None:
    """The lookup of the slot, the newest row in the segment, sealed or not, and how many
    transactions the slot's block has if that is asked for; None when a partition is gone.
    """
    sealed = sealed_reads.up_to(segment.sealed, position.slot)
    hot = states.single_queries(segment.partitions, pubkey, position)
    counted = [(TRANSACTION_COUNT, position.slot)] if with_block else []
    try:
        # The layout first: partitions that are gone since then are an error.
        (found,), *rows = fetch_together(
            [
                (slot_lookup.SLOT_LOOKUP, position.slot),
                *counted,
                *hot,
                *(sealed_reads.queries_of_one(pubkey, position, sealed) if sealed else ()),
            ]
        )
    except UndefinedTable:
        partitions.forget()
        if connection.in_atomic_block:  # which is lost with the error
            raise
        return None
    transactions: int | None = rows.pop(0)[0][0] if with_block else None
    state = states.single_state(rows[: len(hot)])
    if sealed:
        packed = sealed_reads.newest_of_one(pubkey, position, rows[len(hot) :])
        state = states.newer(state, packed)
    return SlotLookup(*found), state, transactions
