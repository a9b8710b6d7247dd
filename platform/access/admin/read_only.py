"""Pages to look at, and how a slot is looked for on them."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from chain.units import I64_MAX
from staff.pages import StaffAdmin


class ReadOnlyAdmin(StaffAdmin):
    """To be looked at: its rows are written by the service itself."""

    actions: Any = None

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        beside = {} if object_id is None else self.beside_fields(request, object_id)
        # The service wrote it: it has a history only where somebody gave an order about it.
        known = object_id is not None and self.has_history(object_id)
        extra = {"show_history": known, **beside, **(extra_context or {})}
        response: HttpResponse = super().changeform_view(request, object_id, form_url, extra)
        return response

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        """What the page of a row shows beside its fields, by the names of its template."""
        return {}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def slot_in(text: str) -> int | None:
    digits = text.replace(",", "")
    if digits.isascii() and digits.isdecimal() and len(digits) < 20 and int(digits) <= I64_MAX:
        return int(digits)
    return None
