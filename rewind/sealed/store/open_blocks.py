"""Reads sealed blocks and keeps what was decoded of them, for reads come back to the same ones."""

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from typing import Any

from columns.caches import ByteCache
from columns.raw_queries import fetch_all, fetch_one
from rewind.errors import ArchiveDamaged
from rewind.sealed.packing.block_codec import decode
from rewind.sealed.packing.body import Body
from rewind.sealed.packing.changes import BlockDamaged
from rewind.sealed.store import cold_blocks
from shared_state import damage_reports

# Decoded blocks; one that has the largest account fits.
_bodies: ByteCache[Body] = ByteCache(22 << 20, size_of=attrgetter("size"))
# By segment; b"" is that of a segment without one.
_dictionaries: ByteCache[bytes] = ByteCache(2 << 20)

_NEXT = """
SELECT id, slot, position, pubkey, block FROM rewind_sealedblock WHERE segment_id = $1
AND (pubkey, slot, position) > ($2, $3, $4) ORDER BY pubkey, slot, position LIMIT $5
"""
# A block's bucket says on which node of a cluster it lies.
_BY_NUMBER = (
    "SELECT id, block FROM rewind_sealedblock WHERE id = ANY($1) AND bucket = ANY($2::smallint[])"
)


def opened(block: int, segment: int, packed: bytes | None) -> Body:
    """The block, decoded; one without bytes lies in the store. Raises ArchiveDamaged and
    ArchiveStoreUnavailable.
    """
    body = _bodies.find(block)
    if body is not None:
        return body
    if packed is None:
        packed = cold_blocks.packed([block])[block]
    body = _checked(block, segment, packed)
    _bodies.keep(block, body)
    return body


def decoded(block: int, segment: int, packed: bytes) -> Body:
    """The same, without keeping it."""
    try:
        return decode(packed, _dictionary(segment))
    except BlockDamaged:
        _dictionaries.drop([segment])  # it may have been repaired since it was read
    try:
        return decode(packed, _dictionary(segment))
    except BlockDamaged as damage:
        damage_reports.report("archive", f"{segment}:{block}")
        raise ArchiveDamaged(segment, block, str(damage)) from damage


def _checked(block: int, segment: int, packed: bytes) -> Body:
    """The block, decoded. One of the store is fetched once more where it is damaged: it may have
    been on its way. Raises ArchiveDamaged and ArchiveStoreUnavailable.
    """
    try:
        return decoded(block, segment, packed)
    except ArchiveDamaged:
        if not cold_blocks.drop(block):
            raise
    return decoded(block, segment, cold_blocks.packed([block], keep=False)[block])


def fetched(blocks: Iterable[tuple[int, int, int]]) -> dict[int, Body]:
    """Blocks by number, each asked for with its segment's and its bucket. Raises ArchiveDamaged
    and ArchiveStoreUnavailable.
    """
    found: dict[int, Body] = {}
    missing: dict[int, int] = {}
    buckets: set[int] = set()
    for block, segment, bucket in blocks:
        body = _bodies.find(block)
        if body is None:
            missing[block] = segment
            buckets.add(bucket)
        else:
            found[block] = body
    if missing:
        rows = fetch_all(_BY_NUMBER, [*missing], [*buckets])
        for block, packed in _warmed(rows):
            found[block] = opened(block, missing[block], packed)
    return found


def _warmed(rows: list[tuple[Any, ...]], *, keep: bool = True) -> list[tuple[Any, ...]]:
    """The rows, which end with a block's bytes, with those of the store: fetched together."""
    cold = [row[0] for row in rows if row[-1] is None]
    if not cold:
        return rows
    found = cold_blocks.packed(cold, keep=keep)
    return [row if row[-1] is not None else (*row[:-1], found[row[0]]) for row in rows]


def bodies_from(
    segment: int,
    after: tuple[bytes, int, int],
    at_once: int,
    without: Collection[int] = (),
) -> Iterator[Body]:
    """A segment's blocks in order, from the one on that may hold what comes after a key, but not
    those `without`. They are not kept. Raises ArchiveDamaged and
    ArchiveStoreUnavailable.
    """
    first = fetch_one(_LAST_UP_TO, segment, *after)
    rows = fetch_all(_FROM_KEY, segment, *((b"", -1, 0) if first is None else first), at_once)
    while rows:
        wanted = [row for row in rows if row[0] not in without]
        for block, *_, packed in _warmed(wanted, keep=False):
            yield _checked(block, segment, packed)
        _, slot, position, pubkey, _ = rows[-1]
        rows = fetch_all(_NEXT, segment, pubkey, slot, position, at_once)


_LAST_UP_TO = (
    "SELECT pubkey, slot, position FROM rewind_sealedblock WHERE segment_id = $1"
    " AND (pubkey, slot, position) <= ($2, $3, $4)"
    " ORDER BY pubkey DESC, slot DESC, position DESC LIMIT 1"
)
_FROM_KEY = _NEXT.replace("> (", ">= (")


def forget() -> None:
    """Nothing is known: the tables are others."""
    _bodies.forget()
    _dictionaries.forget()


def _dictionary(segment: int) -> bytes | None:
    found = _dictionaries.find(segment)
    if found is None:
        row = fetch_one("SELECT dictionary FROM rewind_sealedsegment WHERE id = $1", segment)
        if row is None:
            raise ArchiveDamaged(segment, 0, "its dictionary is missing")
        found = row[0] or b""
        _dictionaries.keep(segment, found)
    return found or None
