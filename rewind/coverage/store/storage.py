"""What the archive takes on the disk, and which of its slots are sealed."""

from typing import NamedTuple

from columns.raw_queries import fetch_all, fetch_one
from columns.slot_bands import Band, Stretch
from rewind.recording.store.partitions import PARTITION_SLOTS


class HotPartition(NamedTuple):
    """A partition of rows: its bytes on disk with indexes, those of the indexes, the changes that
    were archived in its slots, whether a snapshot's accounts lie in it too, and whether it has late
    rows over sealed slots.
    """

    first: int
    last: int
    bytes: int
    index_bytes: int
    changes: int
    has_baseline: bool
    is_late: bool


class Packed(NamedTuple):
    """What readers read of sealed segments of one kind: `is_merged`, or of one partition each.
    `stored_bytes` are those of the blocks wherever they lie, `dictionary_bytes` those of the
    dictionaries.
    """

    is_merged: bool
    segments: int
    slots: int
    changes: int
    blocks: int
    stored_bytes: int
    dictionary_bytes: int


class Accounts(NamedTuple):
    """The index of accounts of finished segments, with its own indexes, and its changes."""

    bytes: int
    changes: int


_HOT = """
SELECT part.first, part.last, coalesce(pg_total_relation_size(part.oid), 0),
    coalesce(pg_indexes_size(part.oid), 0),
    (SELECT coalesce(sum(changes), 0)::bigint FROM rewind_slottally
        WHERE run BETWEEN part.first / 1000 AND part.last / 1000),
    part.first = 0 OR EXISTS (SELECT FROM rewind_baseline
        WHERE slot BETWEEN part.first AND part.last),
    EXISTS (SELECT FROM rewind_sealedsegment AS sealed WHERE state = 1
        AND sealed.first_slot <= part.first AND sealed.last_slot >= part.last)
FROM (
    SELECT pg_class.oid, split_part(relname::text, '_', 3)::bigint AS first,
        split_part(relname::text, '_', 4)::bigint AS last
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'rewind_accountchange'::regclass
) AS part ORDER BY part.first
"""

_PACKED = f"""
SELECT last_slot - first_slot >= {PARTITION_SLOTS} AS is_merged, count(*),
    sum(last_slot - first_slot + 1)::bigint, sum(changes)::bigint, sum(blocks)::bigint,
    sum(stored_bytes)::bigint, coalesce(sum(octet_length(dictionary)), 0)::bigint
FROM rewind_sealedsegment WHERE state = 1 GROUP BY 1 ORDER BY 1
"""

_ACCOUNTS = """
SELECT pg_total_relation_size('rewind_accountsegments'),
    (SELECT coalesce(sum(changes), 0)::bigint FROM rewind_slottally WHERE run <
        coalesce((SELECT indexed_segments FROM rewind_archivestate), 0)::bigint * 432)
"""

# The newest runs of 1,000 slots but the last one, which is not full.
_RATE = """
SELECT count(*), coalesce(sum(changes), 0)::bigint FROM (
    SELECT changes FROM rewind_slottally ORDER BY run DESC OFFSET 1 LIMIT 216
) AS newest
"""


def stretches() -> list[Stretch]:
    """The sealed slots, lowest first. A segment that is moving is not cold yet."""
    return [
        Stretch(first, last, Band.COLD if is_cold else Band.SEALED)
        for first, last, is_cold in fetch_all(
            "SELECT first_slot, last_slot, cold_at IS NOT NULL FROM rewind_sealedsegment"
            " WHERE state = 1"
            " ORDER BY first_slot"
        )
    ]


def sealed_bytes() -> tuple[int, int]:
    """Bytes of the sealed segments' blocks here, and of their objects in the store. Of a segment
    that is moving the part by first bytes of pubkeys counts as moved.
    """
    found = fetch_one(
        "SELECT coalesce(sum(CASE WHEN cold_at IS NULL"
        " THEN stored_bytes * greatest(256 - cold_buckets, 0) / 256 ELSE 0 END), 0)::bigint,"
        " coalesce(sum(cold_bytes), 0)::bigint FROM rewind_sealedsegment WHERE state = 1"
    )
    assert found is not None
    return int(found[0]), int(found[1])


def hot_partitions() -> list[HotPartition]:
    """All partitions of rows, lowest first."""
    return [HotPartition(*row) for row in fetch_all(_HOT)]


def packed() -> list[Packed]:
    return [Packed(*row) for row in fetch_all(_PACKED)]


def accounts() -> Accounts:
    found = fetch_one(_ACCOUNTS)
    assert found is not None
    return Accounts(*found)


def newest_rate() -> tuple[int, int]:
    """(runs of 1,000 slots, changes in them) of the newest slots, of a day at most."""
    found = fetch_one(_RATE)
    assert found is not None
    return int(found[0]), int(found[1])


class SlotRows(NamedTuple):
    """The archive's rows of slots: their bytes, and how many."""

    bytes: int
    slots: int


def slot_rows() -> SlotRows:
    found = fetch_one(
        "SELECT pg_total_relation_size('rewind_archivedslot'),"
        " (SELECT coalesce(sum(slots), 0)::bigint FROM rewind_slottally)"
    )
    assert found is not None
    return SlotRows(*found)
