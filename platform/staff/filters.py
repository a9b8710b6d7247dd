"""Filters of lists."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Max, Model, Q, QuerySet
from django.http import HttpRequest

from staff.parsing import id_in

# No index orders the rows of one state or tier: a rare one would be searched among all of them.
_NEWEST = 200_000
_Choices = Iterable[tuple[str, str]]


def choice_filter(
    title: str, parameter: str, choices: Mapping[str, tuple[str, Q | Callable[[], Q]]]
) -> type[admin.SimpleListFilter]:
    """A filter by a few choices: {value: (label, condition)}; any other value filters nothing."""

    class ChoiceFilter(admin.SimpleListFilter):
        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, label) for value, (label, _) in choices.items()]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if self.value() not in choices:
                return queryset
            condition = choices[str(self.value())][1]
            return queryset.filter(condition() if callable(condition) else condition)

    ChoiceFilter.title, ChoiceFilter.parameter_name = title, parameter
    return ChoiceFilter


def value_filter(
    title: str, parameter: str, choices: Callable[[], _Choices], *, newest: bool = False
) -> type[admin.SimpleListFilter]:
    """A filter by the value of the parameter's field; with `newest` only among the newest rows."""

    class ValueFilter(admin.SimpleListFilter):
        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return list(choices())

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if self.value() is None:
                return queryset
            if newest:
                queryset = newest_of(queryset)
            return queryset.filter(**{parameter: self.value()})

    ValueFilter.title, ValueFilter.parameter_name = title, parameter
    return ValueFilter


def row_filter(
    title: str,
    parameter: str,
    model: type[Model],
    *,
    condition: Callable[[int], Q] | None = None,
    missing: str = "no such {}",
    newest: bool = False,
) -> type[admin.SimpleListFilter]:
    """A filter by one row of another table, set by links from other pages: there are too many to
    list. Rows match the `condition` on its id; by default, their `parameter` is that row.
    """

    class RowFilter(admin.SimpleListFilter):
        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            asked = request.GET.get(parameter)
            if not asked:
                return []
            pk = id_in(asked)
            found = None if pk is None else model._default_manager.filter(pk=pk).first()
            return [(asked, missing.format(title) if found is None else str(found))]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if self.value() is None:
                return queryset
            pk = id_in(self.value())
            if pk is None:
                return queryset.none()
            if newest:
                queryset = newest_of(queryset)
            return queryset.filter(Q(**{parameter: pk}) if condition is None else condition(pk))

    RowFilter.title, RowFilter.parameter_name = title, parameter
    return RowFilter


def newest_of(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The newest rows of a table that is too long to be searched whole."""
    newest = rows.model._default_manager.aggregate(newest=Max("pk"))["newest"] or 0
    return rows.filter(pk__gt=newest - _NEWEST)
