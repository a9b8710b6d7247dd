"""StaffAdmin: the base of every page of the admin."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

from staff import audit, changes
from staff.models import AuditEntry

# Entries that the page of a row's history shows; the audit log has them all.
_NEWEST = 200


class StaffAdmin(ModelAdmin):  # type: ignore[misc]
    """Writes what is done here into the audit log. An order of its own (an admin action) calls
    `staff.audit.record(request, "rotated", row)` in the transaction of what it does.
    """

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        found = changes.of_form(form, is_new=add) | changes.of_formsets(formsets or ())
        request.audit_changes = found  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, add)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        found = request.__dict__.pop("audit_changes", None)
        audit.record(request, "added", obj, text=_text(message), changes=found)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        found = request.__dict__.pop("audit_changes", None)
        verb = "saved, unchanged" if found == {} else "changed"
        audit.record(request, verb, obj, text=_text(message), changes=found)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            audit.record(request, "deleted", row, changes=changes.of_row(row))
        return super().log_deletions(request, queryset)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        # `?secret__startswith=a` would tell a secret letter by letter to who may see the list.
        hidden = changes.is_secret(lookup) or any(map(changes.is_address, lookup.split("__")))
        return not hidden and super().lookup_allowed(lookup, value, request)

    def has_history(self, object_id: str) -> bool:
        """Has staff done anything to this row?"""
        kept = {"subject_type": self.opts.label_lower, "subject_id": unquote(object_id)}
        return AuditEntry.objects.filter(**kept).exists()

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What the audit log has of one row, and what Django's own log had before it."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        name = row._meta.label_lower
        entries = AuditEntry.objects.filter(subject_type=name, subject_id=str(row.pk))
        found = list(entries[: _NEWEST + 1])
        older = LogEntry.objects.filter(
            content_type__app_label=row._meta.app_label,
            content_type__model=row._meta.model_name,
            object_id=str(row.pk),
        ).select_related("user")
        first = entries.order_by("pk").values_list("at", flat=True).first()
        if first is not None:
            older = older.filter(action_time__lt=first)
        context = {
            **self.admin_site.each_context(request),
            "title": f"History: {row}",
            "opts": self.opts,
            "object": row,
            "entries": found[:_NEWEST],
            "more": len(found) > _NEWEST,
            "older": older.order_by("-action_time")[:_NEWEST],
            "name": name,
            "can_see_log": request.user.has_perm("staff.view_auditentry"),
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/object_history.html", context)


def _text(message: Any) -> str:
    return message if isinstance(message, str) else ""
