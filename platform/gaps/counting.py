"""How many slots of an area are missing, by the state of their gaps."""

from typing import NamedTuple

from django.db.models import Count, F, Q, Sum

from chain.slot_ranges import SlotRange
from gaps.slot_gap import IS_STATE, GapState, SlotGap


class GapCounts(NamedTuple):
    """Gaps that are being filled, and those that were given up, with their slots."""

    open_gaps: int
    open_slots: int
    given_up_gaps: int
    given_up_slots: int


def count_gaps(model: type[SlotGap], within: SlotRange | None = None) -> GapCounts:
    """Of the whole area, or of the gaps that have a slot within the range: all of their slots."""
    rows = model._default_manager.filter(closed_at__isnull=True)
    if within is not None:
        rows = rows.filter(overlapping(within))
    is_open, is_given_up = IS_STATE[GapState.OPEN], IS_STATE[GapState.GIVEN_UP]
    slots = F("to_slot") - F("from_slot") + 1
    found = rows.aggregate(
        open_gaps=Count("pk", filter=is_open),
        open_slots=Sum(slots, filter=is_open),
        given_up_gaps=Count("pk", filter=is_given_up),
        given_up_slots=Sum(slots, filter=is_given_up),
    )
    return GapCounts(**{name: int(number or 0) for name, number in found.items()})


def overlapping(slots: SlotRange) -> Q:
    """Gaps that have a slot of the range."""
    return Q(from_slot__lte=slots.last, to_slot__gte=slots.first)
