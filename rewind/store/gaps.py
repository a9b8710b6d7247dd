"""Queries on open gaps."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import QuerySet

from rewind.models import Gap


class Part(NamedTuple):
    """A gap as far as it lies in a window."""

    first: int
    last: int
    status: str


def lowest_untried(first: int, last: int) -> int | None:
    """The lowest slot of an open gap in the range that nobody has tried to fill."""
    found = _open(first, last).filter(tries=0).order_by("from_slot")
    slot = found.values_list("from_slot", flat=True).first()
    return None if slot is None else max(slot, first)


def slots_in_gaps(first: int, last: int) -> int:
    """How many slots of the range are in open gaps."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(least(to_slot, %(last)s) - greatest(from_slot, %(first)s) + 1), 0)"
            " FROM rewind_gap"
            " WHERE closed_at IS NULL AND from_slot <= %(last)s AND to_slot >= %(first)s",
            {"first": first, "last": last},
        )
        return int(cursor.fetchone()[0])


def parts(first: int, last: int, limit: int) -> Sequence[Part]:
    """Open gaps clipped to the range, lowest first, at most `limit`."""
    found = _open(first, last).order_by("from_slot")[:limit]
    return [
        Part(max(gap.from_slot, first), min(gap.to_slot, last), gap.status)
        for gap in found.only("from_slot", "to_slot", "status")
    ]


def _open(first: int, last: int) -> QuerySet[Gap]:
    return Gap.objects.filter(closed_at__isnull=True, from_slot__lte=last, to_slot__gte=first)
