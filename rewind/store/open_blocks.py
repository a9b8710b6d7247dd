"""Reads sealed blocks and keeps what was decoded of them, for reads come back to the same ones."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from threading import Lock

from columns.raw_queries import fetch_all, fetch_one
from rewind.errors import ArchiveDamaged
from rewind.sealing.block_codec import decode
from rewind.sealing.body import Body
from rewind.sealing.changes import BlockDamaged

# Of decoded blocks a process keeps so much.
_MOST_BYTES = 16 << 20
_MOST_DICTIONARIES = 16

_bodies: OrderedDict[int, Body] = OrderedDict()
_size = 0
_dictionaries: OrderedDict[int, bytes | None] = OrderedDict()
_lock = Lock()

_NEXT = """
SELECT id, slot, position, pubkey, block FROM rewind_sealedblock WHERE segment_id = $1
AND (pubkey, slot, position) > ($2, $3, $4) ORDER BY pubkey, slot, position LIMIT $5
"""
# A block's bucket says on which node of a cluster it lies.
_BY_NUMBER = (
    "SELECT id, block FROM rewind_sealedblock WHERE id = ANY($1) AND bucket = ANY($2::smallint[])"
)


def known(block: int) -> Body | None:
    """The block if it was read not long ago."""
    with _lock:
        body = _bodies.get(block)
        if body is not None:
            _bodies.move_to_end(block)
        return body


def opened(block: int, segment: int, packed: bytes) -> Body:
    """The block, decoded. Raises ArchiveDamaged."""
    global _size
    body = known(block)
    if body is not None:
        return body
    body = decoded(block, segment, packed)
    with _lock:
        if block not in _bodies:
            _bodies[block] = body
            _size += body.size
            while _size > _MOST_BYTES and len(_bodies) > 1:
                _, oldest = _bodies.popitem(last=False)
                _size -= oldest.size
    return body


def decoded(block: int, segment: int, packed: bytes) -> Body:
    """The same, without keeping it."""
    try:
        return decode(packed, _dictionary(segment))
    except BlockDamaged as damage:
        raise ArchiveDamaged(segment, block, str(damage)) from damage


def fetched(blocks: Iterable[tuple[int, int, int]]) -> dict[int, Body]:
    """Blocks by number, each asked for with its segment's and its bucket. Raises ArchiveDamaged."""
    found: dict[int, Body] = {}
    missing: dict[int, int] = {}
    buckets: set[int] = set()
    for block, segment, bucket in blocks:
        body = known(block)
        if body is None:
            missing[block] = segment
            buckets.add(bucket)
        else:
            found[block] = body
    if missing:
        for block, packed in fetch_all(_BY_NUMBER, [*missing], [*buckets]):
            found[block] = opened(block, missing[block], packed)
    return found


def bodies_from(segment: int, after: tuple[bytes, int, int], at_once: int) -> Iterator[Body]:
    """A segment's blocks in order, from the one on that may hold what comes after a key. They are
    not kept. Raises ArchiveDamaged.
    """
    first = fetch_one(_LAST_UP_TO, segment, *after)
    rows = fetch_all(_FROM_KEY, segment, *((b"", -1, 0) if first is None else first), at_once)
    while rows:
        for block, *_, packed in rows:
            yield decoded(block, segment, packed)
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
    global _size
    with _lock:
        _bodies.clear()
        _dictionaries.clear()
        _size = 0


def _dictionary(segment: int) -> bytes | None:
    with _lock:
        if segment in _dictionaries:
            _dictionaries.move_to_end(segment)
            return _dictionaries[segment]
    found = fetch_one("SELECT dictionary FROM rewind_sealedsegment WHERE id = $1", segment)
    if found is None:
        raise ArchiveDamaged(segment, 0, "its dictionary is missing")
    with _lock:
        _dictionaries[segment] = found[0]
        if len(_dictionaries) > _MOST_DICTIONARIES:
            _dictionaries.popitem(last=False)
    dictionary: bytes | None = found[0]
    return dictionary
