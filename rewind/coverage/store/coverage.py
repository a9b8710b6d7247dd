"""How many slots are archived, read from counts over runs of slots."""

from typing import NamedTuple

from columns.queries import first_row
from columns.slot_cells import RUN_SLOTS


class Summary(NamedTuple):
    """The archive's ends, a window clipped to them (`first` above `last` when nothing is left of
    it), and the window's counts: slots archived, those of them of granularity slot, slots in gaps.
    """

    earliest: int
    latest: int
    first: int
    last: int
    archived: int
    coarse: int
    missing: int


# One statement, so that all of it is of one moment. It reads one row for each 1,000 slots, and the
# slots themselves only at the window's two ends, where the runs do not fit it.
_SUMMARY = f"""
WITH ends AS (
    SELECT
        (SELECT slot FROM rewind_archivedslot WHERE slot >=
            coalesce((SELECT first_kept_slot FROM rewind_archivestate), 0)
            ORDER BY slot LIMIT 1) AS earliest,
        (SELECT slot FROM rewind_archivedslot ORDER BY slot DESC LIMIT 1) AS latest
), asked AS (
    -- A window that begins above the archive begins at its end: what follows adds to it.
    SELECT earliest, latest, least(greatest(earliest, %(first)s), latest + 1) AS first,
        least(latest, %(last)s) AS last
    FROM ends WHERE earliest <= latest
), runs AS (
    SELECT *, (first + {RUN_SLOTS - 1}) / {RUN_SLOTS} AS lower,
        (last + 1) / {RUN_SLOTS} AS upper FROM asked
), edges AS (
    SELECT *, CASE WHEN lower < upper THEN lower * {RUN_SLOTS} - 1 ELSE last END AS head,
        CASE WHEN lower < upper THEN upper * {RUN_SLOTS} ELSE last + 1 END AS tail FROM runs
)
SELECT earliest, latest, first, last, inside.slots + head_slots.slots + tail_slots.slots,
    inside.coarse + head_slots.coarse + tail_slots.coarse, gaps.slots
FROM edges,
    LATERAL (SELECT coalesce(sum(slots), 0)::bigint AS slots,
        coalesce(sum(coarse_slots), 0)::bigint AS coarse
        FROM rewind_slottally WHERE run >= lower AND run < upper) AS inside,
    LATERAL (SELECT count(*) AS slots, count(*) FILTER (WHERE granularity > 0) AS coarse
        FROM rewind_archivedslot WHERE slot BETWEEN first AND head) AS head_slots,
    LATERAL (SELECT count(*) AS slots, count(*) FILTER (WHERE granularity > 0) AS coarse
        FROM rewind_archivedslot WHERE slot BETWEEN tail AND last) AS tail_slots,
    LATERAL (SELECT coalesce(sum(least(to_slot, last) - greatest(from_slot, first) + 1), 0)::bigint
        AS slots FROM rewind_gap
        WHERE closed_at IS NULL AND from_slot <= last AND to_slot >= first) AS gaps
"""


def summary(first: int, last: int) -> Summary | None:
    """None while nothing is archived."""
    row = first_row(_SUMMARY, {"first": first, "last": last})
    return None if row is None else Summary(*row)
