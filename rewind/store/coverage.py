"""How many slots are archived, read from counts over runs of slots."""

from typing import NamedTuple

from django.db import connection

from rewind.store.slots import TALLIED_SLOTS


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
    """A run of slots in open gaps of one status."""

    first: int
    last: int
    status: str


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
    SELECT *, (first + {TALLIED_SLOTS - 1}) / {TALLIED_SLOTS} AS lower,
        (last + 1) / {TALLIED_SLOTS} AS upper FROM asked
), edges AS (
    SELECT *, CASE WHEN lower < upper THEN lower * {TALLIED_SLOTS} - 1 ELSE last END AS head,
        CASE WHEN lower < upper THEN upper * {TALLIED_SLOTS} ELSE last + 1 END AS tail FROM runs
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
SELECT greatest(min(from_slot), %(first)s), least(max(to_slot), %(last)s), status
FROM (
    SELECT *, sum(begins) OVER (ORDER BY from_slot) AS number FROM (
        SELECT from_slot, to_slot, status,
            CASE WHEN lag(to_slot) OVER ascending = from_slot - 1
                AND lag(status) OVER ascending = status THEN 0 ELSE 1 END AS begins
        FROM rewind_gap
        WHERE closed_at IS NULL AND from_slot <= %(last)s AND to_slot >= %(first)s
        WINDOW ascending AS (ORDER BY from_slot)
    ) AS marked
) AS numbered
GROUP BY number, status ORDER BY 1 LIMIT %(limit)s
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


def archived_by_cell(first: int, last: int, cells: int) -> list[tuple[int, int]]:
    """The window in equal cells: slots of each, and how many of them are archived.

    Cells of more than two runs are counted by whole runs, each in the cell that its middle is in:
    good enough to draw, and as cheap for a year as for a day.
    """
    size = -(-(last - first + 1) // cells)
    by_run = size >= 2 * TALLIED_SLOTS
    with connection.cursor() as cursor:
        if by_run:
            cursor.execute(
                "SELECT greatest(0, run * %(run)s + %(run)s / 2 - %(first)s) / %(size)s AS cell,"
                " sum(slots)::bigint FROM rewind_slottally"
                " WHERE run BETWEEN %(first)s / %(run)s AND %(last)s / %(run)s GROUP BY cell",
                {"run": TALLIED_SLOTS, "first": first, "last": last, "size": size},
            )
        else:
            cursor.execute(
                "SELECT (slot - %(first)s) / %(size)s AS cell, count(*) FROM rewind_archivedslot"
                " WHERE slot BETWEEN %(first)s AND %(last)s GROUP BY cell",
                {"first": first, "last": last, "size": size},
            )
        counts = dict(cursor.fetchall())
    starts = range(first, last + 1, size)
    return [
        (min(size, last + 1 - start), min(size, counts.get(number, 0)))
        for number, start in enumerate(starts)
    ]
