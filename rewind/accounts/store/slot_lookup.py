"""Everything that a read needs to know of its slot: one statement."""

from typing import NamedTuple

from columns.raw_queries import fetch_one


class SlotLookup(NamedTuple):
    """The archive's ends (None while it is empty), its layout (recording/store/partitions.py), the
    newest open gap that begins at or below the slot, the slot's granularity (None where it is not
    archived), and what is unseen below the archive's first slot: up to `unseen_to` slots that were
    never followed, and the newest run of slots that were missing when they left the window, which
    begins at `first_kept`. `parent` is that of the archive's first slot; `edge_is_whole` says that
    each account that lived at the end of the slot below `first_kept` has a row.
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
    parent: int | None
    edge_is_whole: bool


_SLOT_LOOKUP = """
SELECT
    lowest.slot AS earliest,
    (SELECT slot FROM rewind_archivedslot ORDER BY slot DESC LIMIT 1) AS latest,
    coalesce(layout, 0) AS layout,
    gap.from_slot AS gap_first, gap.to_slot AS gap_last, gap.status AS gap_status,
    (SELECT granularity FROM rewind_archivedslot WHERE slot = {slot}) AS granularity,
    CASE WHEN lowest.parent_slot >= coalesce(first_kept_slot, 0)
        AND lowest.parent_slot < lowest.slot THEN lowest.parent_slot END AS unseen_to,
    coalesce(first_kept_slot, 0) AS first_kept, lost_first_slot, lost_last_slot,
    lowest.parent_slot AS parent, coalesce(edge_is_whole AND first_kept_slot IS NOT NULL, false)
        AS edge_is_whole
FROM (SELECT) AS one
LEFT JOIN rewind_archivestate ON true
LEFT JOIN LATERAL (
    SELECT slot, parent_slot FROM rewind_archivedslot
    WHERE slot >= coalesce(first_kept_slot, 0) ORDER BY slot LIMIT 1
) AS lowest ON true
LEFT JOIN LATERAL (
    SELECT from_slot, to_slot, status FROM rewind_gap
    WHERE closed_at IS NULL AND from_slot <= {slot} ORDER BY from_slot DESC LIMIT 1
) AS gap ON true
"""


def query_at(slot: str) -> str:
    """The query of a SlotLookup at the slot that an expression names."""
    return _SLOT_LOOKUP.format(slot=slot)


# Of the slot $1.
SLOT_LOOKUP = query_at("$1")


def look_up_slot(slot: int) -> SlotLookup:
    row = fetch_one(SLOT_LOOKUP, slot)
    assert row is not None
    return SlotLookup(*row)
