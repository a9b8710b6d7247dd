"""Open gaps of a range, as runs of slots."""

from typing import NamedTuple

from columns.raw_queries import fetch_all
from gaps.slot_gap import SlotGap


class Part(NamedTuple):
    """A run of slots in open gaps of one status, which some source may have, or none any more."""

    first: int
    last: int
    status: str
    is_given_up: bool


# Gaps that touch are several rows when their causes differ; who asks for slots sees one run.
_PARTS = """
SELECT greatest(min(from_slot), $1), least(max(to_slot), $2), status, given_up
FROM (
    SELECT *, sum(begins) OVER (ORDER BY from_slot) AS number FROM (
        SELECT from_slot, to_slot, status, cannot_be_had_at IS NOT NULL AS given_up,
            CASE WHEN lag(to_slot) OVER ascending = from_slot - 1
                AND lag(status) OVER ascending = status
                AND (lag(cannot_be_had_at) OVER ascending IS NULL) = (cannot_be_had_at IS NULL)
                THEN 0 ELSE 1 END AS begins
        FROM {gaps}
        WHERE closed_at IS NULL AND from_slot <= $2 AND to_slot >= $1
        WINDOW ascending AS (ORDER BY from_slot)
    ) AS marked
) AS numbered
GROUP BY number, status, given_up ORDER BY 1 LIMIT $3
"""


def parts_between(model: type[SlotGap], first: int, last: int, limit: int) -> list[Part]:
    """Runs of slots in open gaps, clipped to the range, lowest first, at most `limit`."""
    sql = _PARTS.format(gaps=model._meta.db_table)
    return [Part(*row) for row in fetch_all(sql, first, last, limit)]
