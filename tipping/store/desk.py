"""Queries of the page TTL classes: the rate of issuing, batches to sweep, the latest batches."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import RowNumber

from tipping.models import TipAddress, TipBatch, TipSweep

_PREPARED, _CLOSED = TipBatch.State.PREPARED, TipBatch.State.CLOSED


class Waiting(NamedTuple):
    """The number of unswept expired batches of a class, and of those with a note."""

    batches: int
    noted: int


def issued_since(since: datetime) -> dict[int, int]:
    """The number of addresses issued since then, by class."""
    batches = TipBatch.objects.exclude(state=_PREPARED).filter(window_ends_at__gt=since)
    issued = TipAddress.objects.filter(batch__in=batches, issued_at__gte=since).order_by()
    return dict(issued.values_list("batch__ttl_class").annotate(Count("pk")))


def waiting_to_be_swept(*, now: datetime) -> dict[int, Waiting]:
    """Closed, expired and unswept batches by class."""
    rows = to_sweep(now=now).order_by()
    counts = dict(rows.values_list("ttl_class").annotate(Count("pk")))
    noted = dict(rows.exclude(sweep_note="").values_list("ttl_class").annotate(Count("pk")))
    return {pk: Waiting(count, noted.get(pk, 0)) for pk, count in counts.items()}


def to_sweep(*, now: datetime) -> QuerySet[TipBatch]:
    return TipBatch.objects.filter(state=_CLOSED, swept_at__isnull=True, expires_at__lte=now)


def last_swept() -> dict[int, datetime]:
    """When a batch was last swept, by class."""
    swept = TipBatch.objects.filter(swept_at__isnull=False).order_by()
    return dict(swept.values_list("ttl_class").annotate(Max("swept_at")))


def last_batches(ttl_class_ids: Iterable[int], *, since: datetime, most: int) -> list[TipBatch]:
    """The newest batches of each class whose addresses expired after `since`, in the order of
    opening.
    """
    rows = TipBatch.objects.filter(ttl_class__in=list(ttl_class_ids), opened_at__isnull=False)
    ranked = rows.filter(expires_at__gt=since).annotate(
        place=Window(RowNumber(), partition_by=F("ttl_class"), order_by=F("number").desc())
    )
    return list(ranked.filter(place__lte=most).order_by("opened_at", "number"))


def issued_of(batches: Iterable[int]) -> dict[int, int]:
    """The number of issued addresses of each batch."""
    rows = TipAddress.objects.filter(batch__in=list(batches), issued_at__isnull=False).order_by()
    return dict(rows.values_list("batch").annotate(Count("pk")))


def sweeps_under_way() -> tuple[int, datetime | None]:
    """The number of sweeps without a fate, and when the first of them was planned."""
    rows = list(
        TipSweep.objects.filter(state=TipSweep.State.PLANNED)
        .order_by("pk")
        .values_list("planned_at", flat=True)[:1_000]
    )
    return len(rows), rows[0] if rows else None
