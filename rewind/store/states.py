"""Accounts as they were: each account's newest row at or before a position."""

from collections.abc import Sequence
from typing import NamedTuple

from columns.packed_data import unpack
from columns.raw_queries import fetch_all, fetch_one
from rewind.positions import CARRIED, Position
from rewind.store import layouts

_U64 = 2**64


class State(NamedTuple):
    """An account as a write left it, where that stands, and what filters did to it: whether its
    owner's accounts are filtered, or it itself, and between which slots its writes were dropped.
    A closed account has 0 lamports.
    """

    pubkey: bytes
    slot: int
    position: int
    kind: int
    lamports: int
    rent_epoch: int
    executable: bool
    owner: bytes
    owner_filtered: bool
    packed: bytes
    pubkey_filtered: bool
    first_dropped: int | None
    last_dropped: int | None

    @property
    def data(self) -> bytes:
        return unpack(self.packed)

    def is_stale_at(self, slot: int) -> bool:
        """Whether a write that the archive does not have may lie between this one and the slot's
        end. A closed account's owner tells nothing of what came after it.
        """
        if self.pubkey_filtered or (self.owner_filtered and self.lamports):
            return True
        if self.first_dropped is None or self.last_dropped is None:
            return False
        # What was carried over is of any slot below the one that it stands in.
        known_to = self.slot - 1 if self.position == CARRIED else self.slot
        return self.first_dropped <= slot and self.last_dropped > known_to


_COLUMNS = "pubkey, slot, position, kind, lamports, rent_epoch, executable, owner_id, data"
_STATE = (
    "c.pubkey, c.slot, c.position, c.kind, c.lamports, c.rent_epoch, c.executable,"
    " o.pubkey, o.filtered, c.data,"
    " EXISTS (SELECT FROM rewind_filteredpubkey WHERE pubkey = c.pubkey),"
    " (SELECT first_slot FROM rewind_droppedaccount WHERE pubkey = c.pubkey),"
    " (SELECT last_slot FROM rewind_droppedaccount WHERE pubkey = c.pubkey)"
)


def newest_state(pubkey: bytes, position: Position, layout: int) -> State | None:
    """The account's newest row at or before the position; None where it has none. `layout` is the
    archive's (rewind/store/placing.py).
    """
    for segment in layouts.segments(position.slot, layout):
        row = fetch_one(_single(segment), pubkey, *position)
        if row is not None:
            return _state(row)
    return None


def newest_states(pubkeys: Sequence[bytes], position: Position, layout: int) -> dict[bytes, State]:
    """The newest row of each account at or before the position; those that have none are left
    out.
    """
    found: dict[bytes, State] = {}
    lacking = list(dict.fromkeys(pubkeys))
    for segment in layouts.segments(position.slot, layout):
        if not lacking:
            break
        for row in fetch_all(_several(segment), lacking, *position):
            state = _state(row)
            found[state.pubkey] = state
        lacking = [pubkey for pubkey in lacking if pubkey not in found]
    return found


def _state(row: tuple[object, ...]) -> State:
    state = State(*row)  # type: ignore[arg-type]
    return state._replace(lamports=state.lamports % _U64, rent_epoch=state.rent_epoch % _U64)


def _single(segment: layouts.Segment) -> str:
    return f"SELECT {_STATE} FROM ({_newest(segment, '$1')}) AS c {_OWNER}"


def _several(segment: layouts.Segment) -> str:
    return (
        f"SELECT {_STATE} FROM unnest($1) AS k (pubkey),"
        f" LATERAL ({_newest(segment, 'k.pubkey')}) AS c {_OWNER}"
    )


_OWNER = "JOIN rewind_owner o ON o.id = c.owner_id"


def _newest(segment: layouts.Segment, key: str) -> str:
    """The partitions are looked into one after the other, newest first, until one has a row."""
    parts = (
        f"(SELECT {_COLUMNS} FROM {table} WHERE pubkey = {key}"
        " AND (slot, position) <= ($2, $3) ORDER BY slot DESC, position DESC LIMIT 1)"
        for table in segment.tables
    )
    # A lone part could not have a LIMIT of its own and another behind it.
    return f"SELECT {_COLUMNS} FROM ({' UNION ALL '.join(parts)}) AS p LIMIT 1"
