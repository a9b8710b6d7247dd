"""StaffAdmin: the base of every page of the admin."""

from typing import Any

from django.http import HttpRequest
from unfold.admin import ModelAdmin

from staff import audit


class StaffAdmin(ModelAdmin):  # type: ignore[misc]
    """Writes what is done here into the audit log. An order of its own (an admin action) calls
    `staff.audit.record(request, "rotated", row)` in the transaction of what it does.
    """

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        request.audit_changes = _changes(form, add)  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, add)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        changes = request.__dict__.pop("audit_changes", None)
        audit.record(request, "added", obj, text=_text(message), changes=changes)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        changes = request.__dict__.pop("audit_changes", None)
        audit.record(request, "changed", obj, text=_text(message), changes=changes)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            audit.record(request, "deleted", row)
        return super().log_deletions(request, queryset)


def _text(message: Any) -> str:
    return message if isinstance(message, str) else ""


def _changes(form: Any, add: bool) -> dict[str, Any]:
    hidden = ("password", "secret")
    return {
        name: [None if add else str(form.initial.get(name)), str(form.cleaned_data.get(name))]
        for name in getattr(form, "changed_data", [])
        if name in form.cleaned_data and not any(word in name for word in hidden)
    }
