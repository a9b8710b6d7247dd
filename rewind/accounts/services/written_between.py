"""An account's states at the ends of the slots that wrote it, for subscribers who were away."""

from collections.abc import Iterator
from typing import NamedTuple

from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.walking import Row, data_of, rows_below
from rewind.positions import CARRIED, END_OF_SLOT, Position
from rewind.recording.store import slots as store

_ROWS_AT_ONCE = 256


class Written(NamedTuple):
    """The account as the slot left it; `place` is the index of the transaction that wrote it last,
    None where none did, `order` the position (rewind/positions.py).
    """

    slot: int
    place: int | None
    lamports: int
    owner: bytes
    data: bytes
    executable: bool
    rent_epoch: int
    order: int


def written_between(pubkey: bytes, first: int, last: int) -> Iterator[Written]:
    """The last write of each slot in the range, ascending; both ends inclusive. Large
    data are read one after the other. Raises SlotTooOld when the range just left the window.
    """
    newest: dict[int, Row] = {}
    layout = look_up_slot(first).layout
    below = Position(last + 1, CARRIED)
    for rows in rows_below(pubkey, below, first, layout, at_once=_ROWS_AT_ONCE):
        for row in rows:
            if row.is_write:
                newest.setdefault(row.slot, row)
    for slot in sorted(newest):
        yield _written(pubkey, newest[slot])


def archived_links(first: int, last: int) -> list[tuple[int, int]]:
    """(slot, parent slot) of every archived slot in the range, ascending, and of the next one."""
    return store.links_between(first, last)


def _written(pubkey: bytes, row: Row) -> Written:
    is_of_transaction = 0 <= row.position < END_OF_SLOT
    return Written(
        row.slot,
        row.position if is_of_transaction else None,
        row.lamports,
        row.owner,
        data_of(pubkey, row),
        row.executable,
        row.rent_epoch,
        row.position,
    )
