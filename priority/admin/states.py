"""The filter of submissions and bundles by how far they have come."""

from typing import Any

from django.http import HttpRequest

from access.admin.newest import NewestFilter
from priority.submissions import State


class StateFilter(NewestFilter):
    title = "state"
    field = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, state.value) for state in State]
