"""Which partitions there are, known by heart: asking PostgreSQL would cost more than the read."""

from collections.abc import Iterator
from typing import NamedTuple

from rewind.store import partitions

# Slots whose partitions one statement reads: an epoch of mainnet's.
SEGMENT_SLOTS = 432_000


class Segment(NamedTuple):
    """The partitions of a run of SEGMENT_SLOTS slots, newest first."""

    number: int
    tables: tuple[str, ...]


_known: tuple[int, list[Segment]] | None = None


def segments(slot: int, layout: int) -> Iterator[Segment]:
    """Segments with a partition, from that of the slot downwards; those of a layout that is not
    known yet are read first.
    """
    number = slot // SEGMENT_SLOTS
    return (segment for segment in _all(layout) if segment.number <= number)


def forget() -> None:
    """The next reader looks anew: a partition that was known has gone."""
    global _known
    _known = None


def _all(layout: int) -> list[Segment]:
    global _known
    if _known is None or _known[0] != layout:
        _known = layout, _read()
    return _known[1]


def _read() -> list[Segment]:
    tables: dict[int, list[str]] = {}
    for partition in reversed(partitions.existing()):
        tables.setdefault(partition.first // SEGMENT_SLOTS, []).append(partition.table)
    return [Segment(number, tuple(found)) for number, found in tables.items()]
