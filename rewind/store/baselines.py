"""Queries on baselines: all that can be read while no slot is archived."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet

from columns.raw_queries import fetch_one
from rewind.baseline_models import Baseline


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


def newest(limit: int) -> list[Baseline]:
    return list(Baseline.objects.order_by("-slot")[:limit])


def keep(
    slot: int, source: str, values: Mapping[str, Any], *, now: datetime, replace: bool
) -> None:
    """The baseline's row; with `replace` an earlier one of the source takes the values."""
    Baseline.objects.update_or_create(
        slot=slot,
        source=source,
        defaults=values if replace else {},
        create_defaults={**values, "recorded_at": now},
    )
