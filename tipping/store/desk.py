"""Queries of the tip desk: how fast addresses go, what waits to be swept, how batches followed."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import RowNumber

from tipping.models import TipAddress, TipBatch, TipSweep

_PREPARED, _CLOSED = TipBatch.State.PREPARED, TipBatch.State.CLOSED


class Waiting(NamedTuple):
    """Expired batches of a class that are not swept, and since when the oldest is expired."""

    batches: int
    noted: int


def issued_since(since: datetime) -> dict[int, int]:
    """Addresses that were issued since then, by class: of batches that were open then or later."""
    batches = TipBatch.objects.exclude(state=_PREPARED).filter(window_ends_at__gt=since)
    issued = TipAddress.objects.filter(batch__in=batches, issued_at__gte=since).order_by()
    return dict(issued.values_list("batch__ttl_class").annotate(Count("pk")))


def waiting_to_be_swept(*, now: datetime) -> dict[int, Waiting]:
    """By class: closed and expired, and not swept."""
    rows = to_sweep(now=now).order_by()
    counts = dict(rows.values_list("ttl_class").annotate(Count("pk")))
    noted = dict(rows.exclude(sweep_note="").values_list("ttl_class").annotate(Count("pk")))
    return {pk: Waiting(count, noted.get(pk, 0)) for pk, count in counts.items()}


def to_sweep(*, now: datetime) -> QuerySet[TipBatch]:
    return TipBatch.objects.filter(state=_CLOSED, swept_at__isnull=True, expires_at__lte=now)


def last_swept() -> dict[int, datetime]:
    """By class: when a batch of it was swept last."""
    swept = TipBatch.objects.filter(swept_at__isnull=False).order_by()
    return dict(swept.values_list("ttl_class").annotate(Max("swept_at")))


def last_batches(ttl_class_ids: Iterable[int], *, since: datetime, most: int) -> list[TipBatch]:
    """The newest batches of each class whose addresses were good since then, in the order in which
    they opened.
    """
    rows = TipBatch.objects.filter(ttl_class__in=list(ttl_class_ids), opened_at__isnull=False)
    ranked = rows.filter(expires_at__gt=since).annotate(
        place=Window(RowNumber(), partition_by=F("ttl_class"), order_by=F("number").desc())
    )
    return list(ranked.filter(place__lte=most).order_by("opened_at", "number"))


def issued_of(batches: Iterable[int]) -> dict[int, int]:
    """Addresses of each batch that were issued."""
    rows = TipAddress.objects.filter(batch__in=list(batches), issued_at__isnull=False).order_by()
    return dict(rows.values_list("batch").annotate(Count("pk")))


def sweeps_under_way() -> tuple[int, datetime | None]:
    """How many sweeps have no fate yet, and when the first of them was planned."""
    rows = list(
        TipSweep.objects.filter(state=TipSweep.State.PLANNED)
        .order_by("pk")
        .values_list("planned_at", flat=True)[:1_000]
    )
    return len(rows), rows[0] if rows else None
