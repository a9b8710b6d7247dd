"""Sealed ranges for a list: without their dictionaries."""

from typing import Any

from django.db.models import Count, F, Func, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from historical.models import IndexRun, SealedRange


def without_dictionaries(ranges: QuerySet[SealedRange]) -> QuerySet[SealedRange]:
    """The ranges with `dictionary_bytes`, that of dictionary and keys together, and `runs`, how
    many runs their indexes have now.
    """
    size: Any = Func(F("dictionary"), function="octet_length", output_field=IntegerField())
    keys: Any = Func(F("keys"), function="octet_length", output_field=IntegerField())
    live = IndexRun.objects.filter(sealed_range=OuterRef("pk"), state=IndexRun.State.LIVE)
    runs = live.order_by().values("sealed_range").annotate(number=Count("pk")).values("number")
    return ranges.defer("dictionary", "keys").annotate(
        dictionary_bytes=size + keys, runs=Coalesce(Subquery(runs), 0)
    )
