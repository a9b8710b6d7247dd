"""A cache of the existing partitions: querying them would cost more than a read."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from columns.raw_queries import fetch_one
from rewind.recording.store.partitions import Partition

# Slots whose partitions one statement reads: an epoch of mainnet's.
SEGMENT_SLOTS = 432_000


class Sealed(NamedTuple):
    """A sealed segment: its number, and the slots from `first` to `last`, both included."""

    id: int
    first: int
    last: int


class Segment(NamedTuple):
    """The partitions of a run of SEGMENT_SLOTS slots, newest first, and what of it is sealed. A
    partition over sealed slots has late rows: where both have a row of one key, its row counts.
    """

    number: int
    partitions: tuple[Partition, ...]
    sealed: tuple[Sealed, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(partition.table for partition in self.partitions)


class Layout(NamedTuple):
    """The segments that have a partition or sealed slots, newest first; slots below `first_kept`
    fell out of the window, and sealed/store/segments.py has the accounts of each segment below
    `indexed`.
    """

    number: int
    first_kept: int
    indexed: int
    segments: tuple[Segment, ...]
    by_number: Mapping[int, Segment]


_known: Layout | None = None

_LAYOUT = """
SELECT coalesce(layout, 0), coalesce(first_kept_slot, 0), coalesce(indexed_segments, 0), (
    SELECT string_agg(relname, ' ') FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'rewind_accountchange'::regclass
), (
    SELECT string_agg(id || ':' || first_slot || ':' || last_slot, ' ' ORDER BY first_slot DESC)
    FROM rewind_sealedsegment WHERE state = 1
)
FROM (SELECT) AS one LEFT JOIN rewind_archivestate ON true
"""


def segment_of(slot: int) -> int:
    return slot // SEGMENT_SLOTS


def layout(number: int) -> Layout:
    """What is known when it is of that number, else what there is now."""
    global _known
    found = _known
    if found is None or found.number != number:
        found = _known = _read()
    return found


def has(layout: Layout, partition: Partition) -> bool:
    """Whether it is one of the layout's partitions."""
    segment = layout.by_number.get(segment_of(partition.first))
    return segment is not None and partition in segment.partitions


def highest(slot: int, layout: Layout) -> Segment | None:
    """The segment of the slot, or the next one below that has a partition."""
    number = segment_of(slot)
    own = layout.by_number.get(number)
    return own or next((each for each in layout.segments if each.number < number), None)


def known() -> Layout | None:
    """The layout as it was when last read; None before that."""
    return _known


def segments(slot: int, number: int) -> Iterator[Segment]:
    """Segments with a partition, from that of the slot downwards; those of a layout that is not
    known yet are read first.
    """
    highest = segment_of(slot)
    return (segment for segment in layout(number).segments if segment.number <= highest)


def forget() -> None:
    """The next reader reads the layout again: a known partition is gone."""
    global _known
    _known = None


def _read() -> Layout:
    row = fetch_one(_LAYOUT)
    assert row is not None
    number, first_kept, indexed, names, packed = row
    found: dict[int, tuple[list[Partition], list[Sealed]]] = {}
    for partition in sorted(map(Partition.of_table, (names or "").split()), reverse=True):
        found.setdefault(segment_of(partition.first), ([], []))[0].append(partition)
    for each in (packed or "").split():
        sealed = Sealed(*map(int, each.split(":")))
        found.setdefault(segment_of(sealed.first), ([], []))[1].append(sealed)
    run = tuple(
        Segment(segment, tuple(parts), tuple(sealed))
        for segment, (parts, sealed) in sorted(found.items(), reverse=True)
    )
    return Layout(number, first_kept, indexed, run, {each.number: each for each in run})
