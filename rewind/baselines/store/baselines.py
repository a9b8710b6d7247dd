"""Queries on baselines: all that can be read while no slot is archived."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet

from chain.units import I64_MAX
from columns.raw_queries import fetch_one
from rewind.baselines.models import Baseline


class Around(NamedTuple):
    """The lowest and the highest baseline, and the nearest ones at or below a slot and above it;
    None where there is none.
    """

    lowest: int | None
    highest: int | None
    below: int | None
    above: int | None


_AROUND = """
SELECT min(slot), max(slot), max(slot) FILTER (WHERE slot <= $1), min(slot) FILTER (WHERE slot > $1)
FROM rewind_baseline
"""


def around(slot: int) -> Around:
    row = fetch_one(_AROUND, slot)
    assert row is not None
    return Around(*row)


def full_ones(slot: int) -> QuerySet[Baseline]:
    """Full snapshots of the slot."""
    return Baseline.objects.filter(slot=slot, base_slot=None)


def slots_of_whole_ones(limit: int) -> list[int]:
    """Slots of full snapshots with every account, lowest first."""
    found = Baseline.objects.filter(whole=True, base_slot=None).order_by("slot")
    return list(found.values_list("slot", flat=True)[:limit])


def newest(limit: int, first: int = 0, last: int = I64_MAX) -> list[Baseline]:
    """Those of the slots, newest first, without their sums."""
    found = Baseline.objects.filter(slot__range=(first, last)).order_by("-slot", "-pk")
    return list(found.defer("lattice")[:limit])


def of_slot(slot: int) -> QuerySet[Baseline]:
    return Baseline.objects.filter(slot=slot)


def keep(
    slot: int,
    source: str,
    values: Mapping[str, Any],
    proved: Mapping[str, Any],
    *,
    now: datetime,
    replace: bool,
) -> Baseline:
    """The baseline's row; with `replace` an earlier one of the source takes the values. What was
    `proved` it takes unless it is proven already, and this is not.
    """
    known = Baseline.objects.select_for_update().filter(slot=slot, source=source).first()
    if known is None:
        return Baseline.objects.create(
            slot=slot, source=source, recorded_at=now, **values, **proved
        )
    taken = dict(values) if replace else {}
    if proved["proven"] or not known.proven:
        taken |= proved
    for name, value in taken.items():
        setattr(known, name, value)
    known.save(update_fields=list(taken))
    return known
