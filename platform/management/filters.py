"""Filters of lists."""

from typing import Any

from django import forms
from django_filters import rest_framework as filters

from chain.units import I64_MAX


class IdFilter(filters.NumberFilter):  # type: ignore[misc]
    """A row's id, or a slot. An id that does not exist finds nothing, as one of others does."""

    field_class = forms.IntegerField

    def __init__(self, field_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(field_name, min_value=0, max_value=I64_MAX, **kwargs)
