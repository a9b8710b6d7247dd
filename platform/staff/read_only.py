"""Read-only pages: their rows are written by the service itself."""

from typing import Any

from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from unfold.paginator import InfinitePaginator

from staff.columns import column
from staff.formatting import slot_range
from staff.pages import StaffAdmin
from staff.parsing import id_in, slot_in


class ReadOnlyAdmin(StaffAdmin):
    """Lists and shows rows; every field of `fieldsets` is read-only."""

    actions: Any = None

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    def form_context(self, request: HttpRequest, object_id: str | None) -> dict[str, Any]:
        # The service wrote the row: it has a history only if staff acted on it.
        known = object_id is not None and self.has_history(object_id)
        return {**super().form_context(request, object_id), "show_history": known}

    def has_act_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """For actions on rows, which are not edited."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class OnePageAdmin(ReadOnlyAdmin):
    """A table that is shown as a whole, on `one_page`; its rows have none of their own."""

    def one_page(self, request: HttpRequest) -> HttpResponse:
        raise NotImplementedError

    def change_view(self, *_args: Any, **_kwargs: Any) -> HttpResponse:
        raise PermissionDenied

    def changelist_view(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self.one_page(request)


class LongListAdmin(ReadOnlyAdmin):
    """A table that may have millions of rows, which are not counted."""

    paginator = InfinitePaginator
    show_full_result_count = False


class SlotRangeAdmin(ReadOnlyAdmin):
    """Rows from `first_slot` to `last_slot`, found by a slot."""

    search_fields = ("first_slot",)  # by `condition`
    search_help_text = "A slot"

    def condition(self, text: str) -> Q | None:
        slot = slot_in(text)
        return None if slot is None else Q(first_slot__lte=slot, last_slot__gte=slot)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        return None if id_in(object_id) is None else super().get_object(request, object_id)

    slots = column("slots", lambda row: slot_range(row.first_slot, row.last_slot), "first_slot")
