"""What there is to know of a slot before its state is read: one statement."""

from typing import NamedTuple

from columns.raw_queries import fetch_one


class Ground(NamedTuple):
    """The archive's ends (None while it is empty), its layout (rewind/store/partitions.py), the
    newest open gap that begins at or below the slot, the slot's granularity (None where it is not
    archived), and what is unseen below the archive's first slot: up to `unseen_to` slots that were
    never followed, and the newest run of slots that were missing when they left the window, which
    begins at `first_kept`.
    """

    earliest: int | None
    latest: int | None
    layout: int
    gap_first: int | None
    gap_last: int | None
    gap_status: str | None
    granularity: int | None
    unseen_to: int | None
    first_kept: int
    lost_first: int | None
    lost_last: int | None


# Of the slot $1.
GROUND = """
SELECT
    lowest.slot AS earliest,
    (SELECT slot FROM rewind_archivedslot ORDER BY slot DESC LIMIT 1) AS latest,
    coalesce(layout, 0) AS layout, gap.from_slot, gap.to_slot, gap.status,
    (SELECT granularity FROM rewind_archivedslot WHERE slot = $1) AS granularity,
    CASE WHEN lowest.parent_slot >= coalesce(first_kept_slot, 0)
        AND lowest.parent_slot < lowest.slot THEN lowest.parent_slot END AS unseen_to,
    coalesce(first_kept_slot, 0) AS first_kept, lost_first_slot, lost_last_slot
FROM (SELECT) AS one
LEFT JOIN rewind_archivestate ON true
LEFT JOIN LATERAL (
    SELECT slot, parent_slot FROM rewind_archivedslot
    WHERE slot >= coalesce(first_kept_slot, 0) ORDER BY slot LIMIT 1
) AS lowest ON true
LEFT JOIN LATERAL (
    SELECT from_slot, to_slot, status FROM rewind_gap
    WHERE closed_at IS NULL AND from_slot <= $1 ORDER BY from_slot DESC LIMIT 1
) AS gap ON true
"""


def ground(slot: int) -> Ground:
    row = fetch_one(GROUND, slot)
    assert row is not None
    return Ground(*row)
