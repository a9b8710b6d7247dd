"""Bytes of sealed blocks for those that check them, here or in the object store."""

from collections.abc import Sequence

from rewind.errors import ArchiveDamaged
from rewind.sealed.models import SealedSegment
from rewind.sealed.packing.object_format import HEADER_BYTES, dictionary_size
from rewind.sealed.store import cold_blocks, cold_store, moving
from rewind.sealed.store.cold_store import Range
from rewind.sealed.store.damage import BlockRow


def loaded(rows: Sequence[BlockRow]) -> list[tuple[BlockRow, str]]:
    """Each with its bytes, read from where they lie and not from a cache; or why there are none.
    Raises ArchiveStoreUnavailable.
    """
    cold = [row.id for row in rows if row.is_cold]
    if not cold:
        return [(row, "" if row.packed else "it has no bytes") for row in rows]
    for number in cold:
        cold_blocks.drop(number)
    try:
        found = cold_blocks.packed(cold, keep=False)
    except ArchiveDamaged as met:
        if len(rows) == 1:
            return [(rows[0], met.fault)]
        return [each for row in rows for each in loaded([row])]
    return [(row._replace(packed=found.get(row.id, row.packed)), "") for row in rows]


def place_of(segment: SealedSegment, row: BlockRow | None) -> str:
    """The database, or the object's name."""
    if row is None or not row.is_cold:
        return "database"
    return cold_blocks.object_name(segment.cold_name, row.bucket)


def dictionaries_of_objects(segment: SealedSegment) -> list[bytes | None]:
    """The segment's dictionary as its first object has it; not checked. Raises
    ArchiveStoreUnavailable.
    """
    if not segment.cold_name:
        return []
    for bucket in moving.moved_buckets(segment)[:1]:
        name = cold_blocks.object_name(segment.cold_name, bucket)
        (header,) = cold_store.fetched([Range(name, 0, HEADER_BYTES)])
        size = 0 if header is None else dictionary_size(header)
        if size:
            (found,) = cold_store.fetched([Range(name, HEADER_BYTES, size)])
            return [found] if found else []
    return []
