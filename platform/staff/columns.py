"""Columns of lists and fields of pages that are one expression of the row."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin


def column(title: str, show: Callable[[Any], Any], ordering: str | None = None) -> Any:
    """What `admin.display` makes of a method: an attribute of a ModelAdmin, shown under `title`."""

    @admin.display(description=title, ordering=ordering)
    def shown(_admin: Any, row: Any) -> Any:
        return show(row)

    return shown
