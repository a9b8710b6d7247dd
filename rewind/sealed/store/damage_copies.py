"""Sealed segments of another database. What it has is not checked."""

from collections.abc import Iterator
from typing import NamedTuple

from columns.other_database import OtherDatabase
from rewind.sealed.store.change_source import Key

_SEGMENTS = (
    "SELECT {} FROM rewind_sealedsegment WHERE state = 1 AND first_slot = %s AND last_slot = %s"
)


class CopiedBlock(NamedTuple):
    """A block of the other database."""

    key: Key
    changes: int
    packed: bytes


def blocks(copy: OtherDatabase, first_slot: int, last_slot: int, key: Key) -> list[bytes]:
    """Blocks of the segment of these slots that begin with the change."""
    rows = copy.rows(
        f"SELECT block FROM rewind_sealedblock WHERE segment_id IN ({_SEGMENTS.format('id')})"
        " AND pubkey = %s AND slot = %s AND position = %s AND block IS NOT NULL",
        first_slot,
        last_slot,
        *key,
    )
    return [bytes(packed) for (packed,) in rows]


def dictionaries(copy: OtherDatabase, first_slot: int, last_slot: int) -> list[bytes | None]:
    """Of the segment of these slots."""
    rows = copy.rows(_SEGMENTS.format("dictionary"), first_slot, last_slot)
    return [None if found is None else bytes(found) for (found,) in rows]


def segment_blocks(copy: OtherDatabase, first_slot: int, last_slot: int) -> Iterator[CopiedBlock]:
    """All blocks of the segment of these slots."""
    rows = copy.each_row(
        "SELECT pubkey, slot, position, changes, block FROM rewind_sealedblock"
        f" WHERE segment_id IN ({_SEGMENTS.format('id')}) AND block IS NOT NULL",
        first_slot,
        last_slot,
    )
    for pubkey, slot, position, changes, packed in rows:
        yield CopiedBlock(Key(bytes(pubkey), slot, position), changes, bytes(packed))
