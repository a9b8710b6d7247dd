"""Sealed segments for a list: without their dictionaries."""

from typing import Any

from django.db.models import F, Func, IntegerField, QuerySet
from django.db.models.functions import Coalesce

from rewind.sealed_models import SealedSegment


def without_dictionaries(segments: QuerySet[SealedSegment]) -> QuerySet[SealedSegment]:
    """The segments with `dictionary_bytes`."""
    size: Any = Func(F("dictionary"), function="octet_length", output_field=IntegerField())
    return segments.defer("dictionary").annotate(dictionary_bytes=Coalesce(size, 0))
