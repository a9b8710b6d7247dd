"""What an operator asks of cold storage: whether it works, what lies there, if that is whole."""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import NamedTuple, TypeVar

from rewind.sealed.models import SealedSegment
from rewind.sealed.packing.object_format import Entry, ObjectDamaged, SealedObject, parse
from rewind.sealed.store import cold_store, moving
from rewind.sealed.store.cold_blocks import object_name
from upstream.object_store import ObjectStore, StoreFault, StoreUnreachable

T = TypeVar("T")
# A probe's bytes, and the range of it that is read.
_PROBE_BYTES, _FROM, _SIZE = 65_536, 30_000, 500


class Step(NamedTuple):
    """What was done with the probe, and the seconds that it took."""

    name: str
    seconds: float


class Lying(NamedTuple):
    """A segment that has objects, how many in the store, and their bytes."""

    segment: SealedSegment
    objects: int
    bytes: int


class Finding(NamedTuple):
    """An object that was read; `fault` is empty for a good one."""

    name: str
    changes: int
    size: int
    fault: str


def check() -> Iterator[Step]:
    """Writes a probe object, reads a part of it and deletes it. Raises StoreFault at the first step
    that fails, and ArchiveStoreUnavailable without a store.
    """
    started = time.perf_counter()
    store = cold_store.opened()
    yield Step("opened", time.perf_counter() - started)
    name, content = f"probes/{secrets.token_hex(8)}", secrets.token_bytes(_PROBE_BYTES)
    try:
        yield _timed("written", lambda: store.put(name, BytesIO(content)))[0]
        step, part = _timed("read by range", lambda: store.get_range(name, _FROM, _SIZE))
        if part != content[_FROM : _FROM + _SIZE]:
            raise StoreUnreachable(name, "other bytes were read than written")
        yield step
        yield _timed("deleted", lambda: store.delete(name))[0]
    except BaseException:
        with suppress(StoreFault):
            store.delete(name)
        raise


def _timed(name: str, work: Callable[[], T]) -> tuple[Step, T]:
    started = time.perf_counter()
    found = work()
    return Step(name, time.perf_counter() - started), found


def contents() -> Iterator[Lying]:
    """The segments that have objects in the store. Raises StoreFault."""
    store = cold_store.opened()
    for segment in moving.with_objects():
        found = list(store.list(segment.cold_name))
        yield Lying(segment, len(found), sum(each.size for each in found))


def unknown() -> Iterator[str]:
    """Objects of segments that no segment of this database names: another database's, or left
    behind by a worker that was killed.
    """
    names = {each.cold_name for each in moving.with_objects()}
    for each in cold_store.opened().list("accounts"):
        if each.name.rpartition("/")[0] not in names:
            yield each.name


def missing() -> Iterator[str]:
    """The names of objects of segments in use that are not in the store. Raises StoreFault, and
    ArchiveStoreUnavailable without a store.
    """
    store = cold_store.opened()
    for segment in moving.with_objects():
        if segment.state == SealedSegment.State.ACTIVE:
            there = {each.name for each in store.list(segment.cold_name)}
            names = (object_name(segment.cold_name, each) for each in moving.moved_buckets(segment))
            yield from (name for name in names if name not in there)


def verify() -> Iterator[Finding]:
    """Reads every object of segments in use, whole, and compares it with what the database has of
    its blocks. Raises StoreFault where the store itself fails.
    """
    store = cold_store.opened()
    for segment in moving.with_objects():
        if segment.state != SealedSegment.State.ACTIVE:
            continue
        changes, whole = 0, True
        for bucket in moving.moved_buckets(segment):
            found = _verified(store, segment, bucket)
            changes += found.changes
            whole = whole and not found.fault
            yield found
        if segment.cold_at is not None and whole and changes != segment.changes:
            fault = f"its objects have {changes} changes, the segment {segment.changes}"
            yield Finding(segment.cold_name, changes, 0, fault)


def _verified(store: ObjectStore, segment: SealedSegment, bucket: int) -> Finding:
    name = object_name(segment.cold_name, bucket)
    data = b""
    try:
        data = b"".join(store.pieces(name))
        found = parse(data)
    except ObjectDamaged as damage:
        return Finding(name, 0, len(data), str(damage))
    except StoreFault as fault:
        if isinstance(fault, StoreUnreachable):
            raise
        return Finding(name, 0, 0, fault.reason)
    return Finding(name, found.changes, len(data), _difference(segment, bucket, found))


def _difference(segment: SealedSegment, bucket: int, found: SealedObject) -> str:
    """How the object is not what the database says of it; empty where it is."""
    if found.about != (segment.first_slot, segment.last_slot, bucket):
        return "it is another segment's"
    if found.dictionary != (segment.dictionary and bytes(segment.dictionary)):
        return "its dictionary is not the segment's"
    entries: Iterator[Entry] = iter(found.entries)
    for row in moving.blocks(segment.pk, bucket):
        entry = next(entries, None)
        if entry is None or entry[:6] != (*row[1:5], row.at, row.size):
            return f"block {row.id} is not where the database says"
    return "" if next(entries, None) is None else "it has blocks that the database does not know"
