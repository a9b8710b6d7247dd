"""Filters of lists."""

from typing import Any

from django import forms
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema_field

from chain.units import I64_MAX
from jsonrpc.wire import to_camel
from management.pages import Pages


class Filters(filters.FilterSet):  # type: ignore[misc]
    """snake_case in code, camelCase in the query. A parameter that is none of them is refused, not
    ignored: it would be a misspelled one, and the list that of everything.
    """

    @classmethod
    def get_filters(cls) -> dict[str, Any]:
        return {to_camel(name): each for name, each in super().get_filters().items()}

    def is_valid(self) -> bool:
        known = {*self.filters, Pages.page_size_query_param, Pages.cursor_query_param}
        for name in self.data:
            if name not in known:
                self.form.errors[name[:100]] = self.form.error_class(["Unknown parameter."])
        return bool(super().is_valid())


# A number filter may have fractions, and is described so.
@extend_schema_field({"type": "integer", "minimum": 0, "maximum": I64_MAX})
class IdFilter(filters.NumberFilter):  # type: ignore[misc]
    """A row's id, or a slot. An id that does not exist finds nothing, as one of others does."""

    field_class = forms.IntegerField

    def __init__(self, field_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(field_name, min_value=0, max_value=I64_MAX, **kwargs)
