"""Filters of lists that are too long to be looked through."""

from typing import Any

from django.contrib import admin
from django.db.models import Max, QuerySet
from django.http import HttpRequest

# No index orders the rows of one state or tier: a rare one would be looked for among all of them.
_NEWEST = 200_000


class NewestFilter(admin.SimpleListFilter):
    """Of the newest rows those whose `field` is the chosen one."""

    field = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        newest = queryset.model._default_manager.aggregate(newest=Max("pk"))["newest"] or 0
        return queryset.filter(pk__gt=newest - _NEWEST, **{self.field: self.value()})
