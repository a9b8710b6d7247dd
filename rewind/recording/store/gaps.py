"""Queries on open gaps."""

from django.db.models import QuerySet

from columns.queries import all_rows, first_row
from columns.raw_queries import fetch_all
from gaps.causes import DAMAGED, REFUTED
from rewind.models import Gap

# From the gap that begins at `start` down and up, to where the next one does not touch it or has
# another status. Both ends are found along the index of open gaps, as far as the run goes.
_RUN = """
SELECT lower.from_slot, upper.to_slot FROM (
    SELECT from_slot FROM (
        SELECT from_slot, status, lead(to_slot) OVER down AS touching, lead(status) OVER down AS its
        FROM rewind_gap WHERE closed_at IS NULL AND from_slot <= %(start)s
        WINDOW down AS (ORDER BY from_slot DESC)
    ) AS below
    WHERE touching IS DISTINCT FROM from_slot - 1 OR its IS DISTINCT FROM status
    ORDER BY from_slot DESC LIMIT 1
) AS lower, (
    SELECT to_slot FROM (
        SELECT from_slot, to_slot, status, lead(from_slot) OVER up AS touching,
            lead(status) OVER up AS its
        FROM rewind_gap WHERE closed_at IS NULL AND from_slot >= %(start)s
        WINDOW up AS (ORDER BY from_slot)
    ) AS above
    WHERE touching IS DISTINCT FROM to_slot + 1 OR its IS DISTINCT FROM status
    ORDER BY from_slot LIMIT 1
) AS upper
WHERE EXISTS (SELECT FROM rewind_gap WHERE closed_at IS NULL AND from_slot = %(start)s)
"""


def lowest_untried(first: int, last: int) -> int | None:
    """The lowest slot of an open gap in the range without attempts, and not given up."""
    untried = _open(first, last).filter(tries=0, cannot_be_had_at__isnull=True)
    found = untried.order_by("from_slot")
    slot = found.values_list("from_slot", flat=True).first()
    return None if slot is None else max(slot, first)


def damaged_among(first: int, last: int) -> list[tuple[int, int]]:
    """Open gaps of the range whose slots may have sealed changes left."""
    return fetch_all(
        "SELECT from_slot, to_slot FROM rewind_gap WHERE closed_at IS NULL"
        f" AND cause IN ('{DAMAGED}', '{REFUTED}') AND from_slot <= $1 AND to_slot >= $2",
        last,
        first,
    )


def run_of(start: int) -> tuple[int, int] | None:
    """The ends of the touching open gaps of one status that the gap which begins at the slot is one
    of; None where it is closed.
    """
    row = first_row(_RUN, {"start": start})
    return None if row is None else (row[0], row[1])


def slots_given_up(first: int, last: int) -> int:
    """How many slots of the range are in gaps that no source can fill."""
    row = first_row(
        "SELECT coalesce(sum(least(to_slot, %(last)s) - greatest(from_slot, %(first)s) + 1), 0)"
        "::bigint FROM rewind_gap WHERE closed_at IS NULL AND cannot_be_had_at IS NOT NULL"
        " AND from_slot <= %(last)s AND to_slot >= %(first)s",
        {"first": first, "last": last},
    )
    return int(row[0]) if row else 0


def slots_by_cause(first: int, last: int) -> list[tuple[str, int]]:
    """Causes of open gaps with the slots each has in the range, the most first."""
    sums: dict[str, int] = {}
    for _, cause, slots in _counted(first, last):
        sums[cause] = sums.get(cause, 0) + slots
    return sorted(sums.items(), key=lambda each: (-each[1], each[0]))


def count_open(first: int, last: int) -> int:
    return _open(first, last).count()


def newest_open(first: int, last: int, limit: int) -> list[Gap]:
    return list(_open(first, last).order_by("-from_slot")[:limit])


def _counted(first: int, last: int) -> list[tuple[str, str, int]]:
    """(status, cause, slots in the range) of open gaps."""
    return all_rows(
        "SELECT status, cause,"
        " sum(least(to_slot, %(last)s) - greatest(from_slot, %(first)s) + 1)::bigint"
        " FROM rewind_gap"
        " WHERE closed_at IS NULL AND from_slot <= %(last)s AND to_slot >= %(first)s"
        " GROUP BY status, cause",
        {"first": first, "last": last},
    )


def _open(first: int, last: int) -> QuerySet[Gap]:
    return Gap.objects.filter(closed_at__isnull=True, from_slot__lte=last, to_slot__gte=first)
