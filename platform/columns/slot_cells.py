"""Counts and open gaps by cell of a range of slots.

A counter table has sums of runs of 1,000 slots. Cells read whole runs from it, and rows only where
a cell's ends do not fit the runs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from columns.queries import all_rows
from columns.raw_queries import fetch_all

# Slots are counted in runs of so many.
RUN_SLOTS = 1_000


class CountedTable(NamedTuple):
    """A table of slots and its counter table: SQL of the two counts, over rows and over runs."""

    rows: str
    runs: str
    row_counts: tuple[str, str]
    run_counts: tuple[str, str]


class GapSlots(NamedTuple):
    """Numbers of slots in open gaps."""

    missing: int = 0
    unknown: int = 0


_COUNTS = """
WITH cells AS (
    SELECT number, first, last, (first + {run} - 1) / {run} AS lower, (last + 1) / {run} AS upper
    FROM unnest((SELECT $1::bigint[]), (SELECT $2::bigint[]))
        WITH ORDINALITY AS asked (first, last, number)
), edges AS (
    SELECT *, CASE WHEN lower < upper THEN lower * {run} - 1 ELSE last END AS head,
        CASE WHEN lower < upper THEN upper * {run} ELSE last + 1 END AS tail FROM cells
)
SELECT (inside.one + head_rows.one + tail_rows.one)::bigint,
    (inside.two + head_rows.two + tail_rows.two)::bigint
FROM edges,
    LATERAL (SELECT coalesce({run_one}, 0) AS one, coalesce({run_two}, 0) AS two
        FROM {runs} WHERE lower < upper AND run >= lower AND run < upper) AS inside,
    LATERAL (SELECT coalesce({row_one}, 0) AS one, coalesce({row_two}, 0) AS two
        FROM {rows} WHERE slot BETWEEN first AND head) AS head_rows,
    LATERAL (SELECT coalesce({row_one}, 0) AS one, coalesce({row_two}, 0) AS two
        FROM {rows} WHERE slot BETWEEN tail AND last) AS tail_rows
ORDER BY number
"""

_GAPS = """
SELECT cell, status, sum(greatest(0, least(to_slot, (%(lasts)s::bigint[])[cell], %(last)s)
    - greatest(from_slot, (%(firsts)s::bigint[])[cell], %(first)s) + 1))::bigint
FROM {gaps}, LATERAL generate_series(
    width_bucket(greatest(from_slot, %(first)s), %(firsts)s::bigint[]),
    width_bucket(least(to_slot, %(last)s), %(firsts)s::bigint[])) AS cell
WHERE closed_at IS NULL AND from_slot <= %(last)s AND to_slot >= %(first)s
GROUP BY cell, status
"""


def counts_of(
    table: CountedTable, firsts: Sequence[int], lasts: Sequence[int]
) -> list[tuple[int, int]]:
    """The two counts of each cell from `firsts[i]` to `lasts[i]`; 0 for an empty cell. Prepared,
    since lists of blocks wait for it.
    """
    sql = _COUNTS.format(
        run=RUN_SLOTS,
        rows=table.rows,
        runs=table.runs,
        row_one=table.row_counts[0],
        row_two=table.row_counts[1],
        run_one=table.run_counts[0],
        run_two=table.run_counts[1],
    )
    return [(one, two) for one, two in fetch_all(sql, list(firsts), list(lasts))]


def gaps_of(
    table: str, firsts: Sequence[int], lasts: Sequence[int], *, first: int, last: int
) -> list[GapSlots]:
    """Slots of open gaps in each cell, within `first` to `last`. The cells ascend; between cells
    that do not touch there must be no gap.
    """
    found = [GapSlots()] * len(firsts)
    rows = all_rows(
        _GAPS.format(gaps=table),
        {"firsts": list(firsts), "lasts": list(lasts),
         "first": max(first, firsts[0]), "last": min(last, lasts[-1])},
    )  # fmt: skip
    for cell, status, slots in rows:
        found[cell - 1] = found[cell - 1]._replace(**{status: slots})
    return found


def whole_runs(first: int, last: int) -> dict[str, int]:
    """First and last slot of the runs that have these slots."""
    return {
        "first": first // RUN_SLOTS * RUN_SLOTS,
        "last": last // RUN_SLOTS * RUN_SLOTS + RUN_SLOTS - 1,
    }
