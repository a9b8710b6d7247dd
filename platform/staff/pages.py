"""StaffAdmin: the base of every page of the admin."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from unfold.admin import ModelAdmin

from staff import audit, changes
from staff.errors import ActionRefused
from staff.models import AuditEntry

# Entries that the page of a row's history shows; the audit log has them all.
_NEWEST = 200


class StaffAdmin(ModelAdmin):  # type: ignore[misc]
    """Logs every change. An action of a list calls `staff.audit.record(request, "rotated", row)`
    in its transaction. An `ActionRefused` of a service is shown as a message.
    """

    list_per_page = 50
    # Why a list may be empty.
    why_nothing = ""
    # Related fields without links to add, change or view their rows.
    plain_choices: ClassVar[tuple[str, ...]] = ()
    # What empty fields show.
    placeholders: ClassVar[Mapping[str, str]] = {}
    # Rows are added one at a time, without “save and add another”.
    adds_one = False

    # --- hooks ---

    def condition(self, text: str) -> Q | None:
        """The rows that a search text names; None: it cannot name any. Without this Django
        searches `search_fields`.
        """
        raise NotImplementedError

    def beside_fields(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Context for the templates above and below a row's fields."""
        return {}

    def why_not_delete(self, row: Any) -> str | None:
        """Why the row cannot be deleted now."""
        return None

    def form_context(self, request: HttpRequest, object_id: str | None) -> dict[str, Any]:
        """Context of a row's page, or of the page that adds one (None)."""
        extra: dict[str, Any] = {}
        if self.adds_one:
            extra["show_save_and_add_another"] = False
        if object_id is None and self.adds_one:
            extra["show_save_and_continue"] = False
        if object_id is not None and type(self).beside_fields is not StaffAdmin.beside_fields:
            row = self.get_object(request, unquote(object_id))
            if row is not None and self.has_view_or_change_permission(request, row):
                extra |= self.beside_fields(request, row)
        return extra

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Context of the list."""
        return {}

    def complete_rows(self, rows: Any) -> None:
        """Adds what the list shows from other tables to the rows of one page."""

    def button(self, action: str) -> Any:
        """A view that does one of the list's actions to one row: `path("<int:pk>/retry/", …)`."""

        def press(request: HttpRequest, pk: int) -> HttpResponse:
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            act = getattr(self, action)
            if not all(
                getattr(self, f"has_{name}_permission")(request) for name in act.allowed_permissions
            ):
                raise PermissionDenied
            row = self.get_queryset(request).filter(pk=pk)
            if not row.exists():
                raise Http404
            act(request, row)
            return HttpResponseRedirect(self.page_of(pk))

        return self.admin_site.admin_view(press)

    def page(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        """A page of this admin that is not cached."""
        shared = {**self.admin_site.each_context(request), "opts": self.opts}
        response = TemplateResponse(request, template, {**shared, **context})
        response.headers["Cache-Control"] = "no-store"
        return response

    def page_of(self, pk: Any) -> str:
        """The address of a row's page."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[pk])

    # --- Django's ---

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        text = search_term.strip()
        if not text or type(self).condition is StaffAdmin.condition:
            found: tuple[Any, bool] = super().get_search_results(request, queryset, search_term)
            return found
        named = self.condition(text)
        return (queryset.none() if named is None else queryset.filter(named)), False

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        changes.why_nothing = self.why_nothing
        self.complete_rows(changes.result_list)
        return changes

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        extra = self.form_context(request, object_id) | (extra_context or {})
        try:
            response: HttpResponse = super().changeform_view(request, object_id, form_url, extra)
        except ActionRefused as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(request.get_full_path())
        return response

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        title = {"title": capfirst(str(self.opts.verbose_name_plural))}
        extra = title | self.list_context(request) | (extra_context or {})
        return super().changelist_view(request, extra)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            if type(self).why_not_delete is not StaffAdmin.why_not_delete:
                row = self.get_object(request, unquote(object_id))
                if row is not None and self.has_delete_permission(request, row):
                    reason = self.why_not_delete(row)
                    if reason is not None:
                        raise ActionRefused(reason)
            response: HttpResponse = super().delete_view(request, object_id, extra_context)
        except ActionRefused as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(self.page_of(unquote(object_id)))
        return response

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name in self.plain_choices:
            for what in ("add", "change", "delete", "view"):
                setattr(field.widget, f"can_{what}_related", False)
        if field is not None and db_field.name in self.placeholders:
            field.widget.attrs["placeholder"] = self.placeholders[db_field.name]
        if field is not None and db_field.name == "notes":
            field.widget.attrs["rows"] = 3
        return field

    # --- the audit log ---

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
        # `?secret__startswith=a` would reveal a secret letter by letter.
        hidden = changes.is_secret(lookup) or any(map(changes.is_address, lookup.split("__")))
        return not hidden and super().lookup_allowed(lookup, value, request)

    def has_history(self, object_id: str) -> bool:
        """Does the audit log have entries on this row?"""
        kept = {"subject_type": self.opts.label_lower, "subject_id": unquote(object_id)}
        return AuditEntry.objects.filter(**kept).exists()

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The entries of the audit log on one row, and older ones of Django's own log."""
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
