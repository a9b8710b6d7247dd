"""Queries on landed tips."""

from datetime import datetime

from columns.queries import all_rows, first_row

# So many of the newest tips are looked at: they give the same percentiles as a million, in
# a constant time.
MOST_TIPS = 20_000

_NEWEST = """
    SELECT tip_lamports, seen_at FROM priority_submission
    WHERE state = 'landed' AND tip_lamports IS NOT NULL AND seen_at > %s
    ORDER BY seen_at DESC LIMIT %s
"""


def percentiles(since: datetime, shares: list[float]) -> tuple[int, list[float] | None]:
    """How many tips landed since, and the percentiles of them; None where there are none."""
    count, found = first_row(
        "SELECT count(*), percentile_cont(%s::float8[]) WITHIN GROUP (ORDER BY tip_lamports)"
        f" FROM ({_NEWEST}) AS newest",
        [shares, since, MOST_TIPS],
    )
    return count, found


def medians(since: datetime, step_seconds: float) -> list[float]:
    """The median of each step that has tips, oldest first; steps count from `since`."""
    rows = all_rows(
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY tip_lamports)"
        f" FROM ({_NEWEST}) AS newest"
        " GROUP BY floor(extract(epoch FROM seen_at - %s)::float8 / %s::float8)"
        " ORDER BY min(seen_at)",
        [since, MOST_TIPS, since, step_seconds],
    )
    return [float(median) for (median,) in rows]
