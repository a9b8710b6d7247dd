"""Queries on open gaps."""

from django.db.models import QuerySet

from rewind.models import Gap


def lowest_untried(first: int, last: int) -> int | None:
    """The lowest slot of an open gap in the range that nobody has tried to fill."""
    found = _open(first, last).filter(tries=0).order_by("from_slot")
    slot = found.values_list("from_slot", flat=True).first()
    return None if slot is None else max(slot, first)


def _open(first: int, last: int) -> QuerySet[Gap]:
    return Gap.objects.filter(closed_at__isnull=True, from_slot__lte=last, to_slot__gte=first)
