"""How many slots are archived, read from counts over runs of slots."""

from typing import NamedTuple

from django.db import connection

from rewind.store.slots import RUN_SLOTS


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


class Part(NamedTuple):
    """A run of slots in open gaps of one status, which some source may have, or none any more."""

    first: int
    last: int
    status: str
    is_given_up: bool


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

# Gaps that touch are several rows when their causes differ; who asks for slots sees one run.
_PARTS = """
SELECT greatest(min(from_slot), %(first)s), least(max(to_slot), %(last)s), status, given_up
FROM (
    SELECT *, sum(begins) OVER (ORDER BY from_slot) AS number FROM (
        SELECT from_slot, to_slot, status, cannot_be_had_at IS NOT NULL AS given_up,
            CASE WHEN lag(to_slot) OVER ascending = from_slot - 1
                AND lag(status) OVER ascending = status
                AND (lag(cannot_be_had_at) OVER ascending IS NULL) = (cannot_be_had_at IS NULL)
                THEN 0 ELSE 1 END AS begins
        FROM rewind_gap
        WHERE closed_at IS NULL AND from_slot <= %(last)s AND to_slot >= %(first)s
        WINDOW ascending AS (ORDER BY from_slot)
    ) AS marked
) AS numbered
GROUP BY number, status, given_up ORDER BY 1 LIMIT %(limit)s
"""


def summary(first: int, last: int) -> Summary | None:
    """None while nothing is archived."""
    with connection.cursor() as cursor:
        cursor.execute(_SUMMARY, {"first": first, "last": last})
        row = cursor.fetchone()
    return None if row is None else Summary(*row)


def gaps_between(first: int, last: int, limit: int) -> list[Part]:
    """Runs of slots in open gaps, clipped to the range, lowest first, at most `limit`."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, {"first": first, "last": last, "limit": limit})
        return [Part(*row) for row in cursor.fetchall()]
