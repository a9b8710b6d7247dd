"""What is recorded at the end of one slot, of all accounts."""

from collections.abc import Iterator

from columns.raw_queries import fetch_all
from rewind.positions import END_OF_SLOT
from rewind.recording.store import partitions
from rewind.sealed.packing.changes import Change
from rewind.sealed.store import change_source

_COVERING = (
    "SELECT id FROM rewind_sealedsegment WHERE state = 1 AND first_slot <= $1 AND last_slot >= $1"
)


def at_end_of(slot: int) -> Iterator[Change]:
    """Changes and bases that stand there, in the order of their pubkeys, each once."""
    partition = partitions.partition_of(slot)
    tables = [each.table for each in partitions.existing() if each == partition]
    segments = [segment for (segment,) in fetch_all(_COVERING, slot)]
    changes = change_source.merged(tables, segments, first_slot=slot, last_slot=slot)
    return (each for each in changes if each.position == END_OF_SLOT)
