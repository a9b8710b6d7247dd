"""What there is to know of a slot before its state is read: one statement."""

from typing import NamedTuple

from columns.raw_queries import fetch_one


class Ground(NamedTuple):
    """The archive's ends (None while it is empty), its layout (rewind/store/partitions.py), the
    newest open gap that begins at or below the slot, and the slot's granularity (None where it is
    not archived).
    """

    earliest: int | None
    latest: int | None
    layout: int
    gap_first: int | None
    gap_last: int | None
    gap_status: str | None
    granularity: int | None


# Of the slot $1.
GROUND = """
SELECT
    (SELECT slot FROM rewind_archivedslot WHERE slot >= coalesce(first_kept_slot, 0)
        ORDER BY slot LIMIT 1) AS earliest,
    (SELECT slot FROM rewind_archivedslot ORDER BY slot DESC LIMIT 1) AS latest,
    coalesce(layout, 0) AS layout, gap.from_slot, gap.to_slot, gap.status,
    (SELECT granularity FROM rewind_archivedslot WHERE slot = $1) AS granularity
FROM (SELECT) AS one
LEFT JOIN rewind_archivestate ON true
LEFT JOIN LATERAL (
    SELECT from_slot, to_slot, status FROM rewind_gap
    WHERE closed_at IS NULL AND from_slot <= $1 ORDER BY from_slot DESC LIMIT 1
) AS gap ON true
"""


def ground(slot: int) -> Ground:
    row = fetch_one(GROUND, slot)
    assert row is not None
    return Ground(*row)
