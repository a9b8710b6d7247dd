"""An account's rows for staff, newest first."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from solders.pubkey import Pubkey

from chain.blocks import Granularity
from chain.slot_ranges import SlotRange
from rewind.accounts.store import walking
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.walking import Row
from rewind.models import AccountChange, ArchivedSlot
from rewind.positions import CARRIED, Position

# Data that one page reads, but for its first row.
_MOST_BYTES = 32 << 20
_HIGHEST_SLOT = 2**62


class Write(NamedTuple):
    """A row without its data; `digest` is the data's SHA-256. A base is a snapshot's state, or
    one that is carried over from slots that left the window.
    """

    place: Position
    is_base: bool
    lamports: int
    owner: Pubkey
    executable: bool
    rent_epoch: int
    length: int
    digest: bytes


class WholeWrite(NamedTuple):
    """A row with its data."""

    slot: int
    position: int
    lamports: int
    owner: Pubkey
    executable: bool
    rent_epoch: int
    data: bytes


def newest_writes(
    pubkey: Pubkey, window: SlotRange, *, before: Position | None, limit: int
) -> list[Write]:
    """Rows in the window, strictly before a position; fewer than `limit` also where their data is
    too large to be read at once.
    """
    top = Position(min(window.last, _HIGHEST_SLOT) + 1, CARRIED)
    if before is not None:
        top = min(top, before)
    if top.slot < window.first:
        return []
    return list(_writes(bytes(pubkey), _rows(pubkey, top, window.first, limit)))


def row_at(pubkey: Pubkey, place: Position) -> WholeWrite | None:
    """The row with its data and its owner."""
    row = next(_rows(pubkey, Position(place.slot, place.order + 1), place.slot, 1), None)
    if row is None or (row.slot, row.position) != place:
        return None
    return WholeWrite(
        row.slot,
        row.position,
        row.lamports,
        Pubkey(row.owner),
        row.executable,
        row.rent_epoch,
        walking.data_of(bytes(pubkey), row),
    )


def coarse_among(slots: Iterable[int]) -> set[int]:
    """Those of the slots where the archive may have only each account's last write."""
    found = ArchivedSlot.objects.filter(slot__in=set(slots), granularity=Granularity.SLOT)
    return set(found.values_list("slot", flat=True))


def _rows(pubkey: Pubkey, top: Position, first_slot: int, limit: int) -> Iterator[Row]:
    layout = look_up_slot(top.slot).layout
    pages = walking.rows_below(bytes(pubkey), top, first_slot, layout, at_once=limit)
    return islice((row for page in pages for row in page), limit)


def _writes(pubkey: bytes, rows: Iterable[Row]) -> Iterator[Write]:
    left = _MOST_BYTES
    for number, row in enumerate(rows):
        data = walking.data_of(pubkey, row)
        left -= len(data)
        if left < 0 and number:
            return
        yield Write(
            place=Position(row.slot, row.position),
            is_base=row.kind == AccountChange.Kind.BASE,
            lamports=row.lamports,
            owner=Pubkey(row.owner),
            executable=row.executable,
            rent_epoch=row.rent_epoch,
            length=len(data),
            digest=hashlib.sha256(data).digest(),
        )
