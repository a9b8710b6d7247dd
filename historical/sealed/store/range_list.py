"""Sealed ranges for a list."""

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from historical.models import IndexRun, SealedRange


def with_runs(ranges: QuerySet[SealedRange]) -> QuerySet[SealedRange]:
    """The ranges with `runs`: how many runs their indexes have now."""
    live = IndexRun.objects.filter(sealed_range=OuterRef("pk"), state=IndexRun.State.LIVE)
    runs = live.order_by().values("sealed_range").annotate(number=Count("pk")).values("number")
    return ranges.annotate(runs=Coalesce(Subquery(runs), 0))
