"""An account's newest row together with what there is to know of the slot: one statement for both,
for a second one costs a cheap read a third of its time.
"""

from functools import lru_cache

from django.db import connection
from psycopg.errors import UndefinedTable

from columns.raw_queries import fetch_one
from rewind.positions import Position
from rewind.store import layouts, placing
from rewind.store.partitions import Partition
from rewind.store.placing import Ground
from rewind.store.states import TEXTS, State, newest_state, single, state_of

_KNOWN = len(Ground._fields)


def look(pubkey: bytes, position: Position) -> tuple[Ground, State | None]:
    """What `placing.ground` and `states.newest_state` give."""
    partitions, number = _guess(position)
    if partitions:
        try:
            row = fetch_one(_text(partitions), pubkey, *position)
        except UndefinedTable:
            layouts.forget()
            if connection.in_atomic_block:  # which is lost with the error
                raise
            row = None
        if row is not None:
            ground = Ground(*row[:_KNOWN])
            if ground.layout == number and row[_KNOWN] is not None:
                return ground, state_of(row[_KNOWN:])
            # Not where it was looked for, or the partitions are no longer those.
            return ground, newest_state(pubkey, position, ground.layout)
    ground = placing.ground(position.slot)
    return ground, newest_state(pubkey, position, ground.layout)


def _guess(position: Position) -> tuple[tuple[Partition, ...], int]:
    """The partitions to look into first, by what is known of them, and the layout that this is of;
    none where nothing is known yet.
    """
    layout = layouts.known()
    if layout is None:
        return (), 0
    highest = layouts.segment_of(position.slot)
    for segment in layout.segments:
        if segment.number <= highest:
            return segment.partitions, layout.number
    return (), 0


@lru_cache(maxsize=TEXTS)
def _text(partitions: tuple[Partition, ...]) -> str:
    ground = placing.GROUND.replace("$1", "$2")
    return (
        f"SELECT * FROM ({ground}) AS ground"
        f" LEFT JOIN LATERAL ({single(partitions)}) AS newest ON true"
    )
