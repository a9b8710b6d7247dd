"""Blocks that lie in the object store: where each lies, and its bytes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from chain.units import Slot
from columns.caches import ENTRY_BYTES, ByteCache
from columns.raw_queries import fetch_together
from rewind.errors import ArchiveDamaged, ArchiveStoreUnavailable
from rewind.sealed.store import cold_store
from rewind.sealed.store.cold_store import Range

# Adjacent blocks come in one fetch of at most so many bytes.
_MOST_AT_ONCE = 4 << 20
# Bytes between two blocks that are fetched with them rather than asked for apart.
_BRIDGED = 32 << 10

_PLACES = "SELECT id, segment_id, bucket, at, size FROM rewind_sealedblock WHERE id = ANY($1)"
_NAMES = (
    "SELECT id, cold_name, first_slot, last_slot FROM rewind_sealedsegment WHERE cold_name <> ''"
)

_cache: ByteCache[bytes] | None = None


class _Moved(NamedTuple):
    """A segment that lies in the store."""

    name: str
    slots: tuple[Slot, Slot]


class Place(NamedTuple):
    """A block's bytes in the store."""

    block: int
    segment: int
    object: str
    at: int
    size: int
    slots: tuple[Slot, Slot]

    @property
    def key(self) -> tuple[str, int]:
        return self.object, self.at


def object_name(cold_name: str, bucket: int) -> str:
    """The object of a segment's blocks whose pubkeys begin with that byte."""
    return f"{cold_name}/{bucket:02x}.blocks"


def packed(blocks: Iterable[int], *, keep: bool = True) -> dict[int, bytes]:
    """The bytes of blocks that lie in the store, by number; `keep` them in the cache. Not checked.
    Raises ArchiveStoreUnavailable, and ArchiveDamaged where an object is missing or ends early.
    """
    wanted = list(blocks)
    rows = _places(wanted)
    if len(rows) != len(wanted):
        raise ArchiveDamaged(0, min(set(wanted) - {row[0] for row in rows}), "it is gone")
    places = [
        Place(block, segment, object_name(of.name, bucket), at, size, of.slots)
        for block, segment, of, bucket, at, size in rows
    ]
    cache = _opened()
    found: dict[int, bytes] = {}
    missing: list[Place] = []
    for place in places:
        known = cache.find(place.key)
        if known is None:
            missing.append(place)
        else:
            found[place.block] = known
    if missing:
        runs = list(_runs(missing))
        parts = _fetched(runs)
        for run, part in zip(runs, parts, strict=True):
            found |= _cut(run, part, cache if keep else None)
    return found


def drop(block: int) -> bool:
    """The block is damaged: the next read fetches it again. False where it is not in the store."""
    rows = [row for row in _places([block]) if row[4] is not None]
    if _cache is not None:
        _cache.drop([(object_name(of.name, bucket), at) for _, _, of, bucket, at, _ in rows])
    return bool(rows)


def _places(blocks: Sequence[int]) -> list[tuple[Any, ...]]:
    """(block, segment, that as it is in the store, bucket, begin, size) of those that there are."""
    rows, named = fetch_together([(_PLACES, blocks), (_NAMES,)])
    moved = {segment: _Moved(name, (first, last)) for segment, name, first, last in named}
    nowhere = _Moved("", (Slot(0), Slot(0)))
    return [(block, segment, moved.get(segment, nowhere), *rest) for block, segment, *rest in rows]


def _fetched(runs: Sequence[Sequence[Place]]) -> list[bytes | None]:
    """One part for each run. Raises ArchiveStoreUnavailable with the slots of their segments."""
    try:
        return cold_store.fetched([_range_of(run) for run in runs])
    except ArchiveStoreUnavailable as error:
        slots = [place.slots for run in runs for place in run]
        whole = min(first for first, _ in slots), max(last for _, last in slots)
        raise ArchiveStoreUnavailable(error.fault, whole) from None


def forget() -> None:
    """Nothing is cached."""
    global _cache
    _cache = None


def _opened() -> ByteCache[bytes]:
    global _cache
    cache = _cache
    if cache is None:
        cache = _cache = ByteCache(cold_store.terms().cache_bytes, entry_bytes=ENTRY_BYTES)
    return cache


def _runs(places: Sequence[Place]) -> Iterator[list[Place]]:
    """Those that one fetch reads."""
    run: list[Place] = []
    for place in sorted(places, key=lambda each: each.key):
        if run and (
            place.object != run[-1].object
            or place.at - (run[-1].at + run[-1].size) > _BRIDGED
            or place.at + place.size - run[0].at > _MOST_AT_ONCE
        ):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _range_of(run: Sequence[Place]) -> Range:
    return Range(run[0].object, run[0].at, run[-1].at + run[-1].size - run[0].at)


def _cut(
    run: Sequence[Place], part: bytes | None, cache: ByteCache[bytes] | None
) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for place in run:
        if part is None:
            raise ArchiveDamaged(place.segment, place.block, f"{place.object} is not in the store")
        start = place.at - run[0].at
        body = part[start : start + place.size]
        if len(body) != place.size:
            raise ArchiveDamaged(place.segment, place.block, f"{place.object} ends before it does")
        found[place.block] = body
        if cache is not None:
            cache.keep(place.key, body)
    return found
