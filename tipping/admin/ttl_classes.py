"""TTL classes: their page, and editing."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from staff.actions import ActionsAdmin
from staff.columns import column
from staff.formatting import grouped, in_units
from tipping.admin.class_actions import ACTIONS, state_of
from tipping.admin.desk import class_badge, desk_page, may_act
from tipping.errors import DefaultClassRequired
from tipping.models import TtlClass
from tipping.services import ttl_classes


class TtlClassForm(forms.ModelForm):  # type: ignore[type-arg]
    """Refuses a change that would leave no default class."""

    def clean_is_default(self) -> bool:
        wanted: bool = self.cleaned_data["is_default"]
        if not wanted and not ttl_classes.has_other_default(self.instance):
            raise forms.ValidationError(str(DefaultClassRequired()))
        return wanted


@admin.register(TtlClass)
class TtlClassAdmin(ActionsAdmin):
    admin_actions = ACTIONS
    action_path = "order/<int:pk>/<str:name>/"
    form = TtlClassForm
    # The page of the list is the desk.
    list_display = ("name",)
    actions: Any = None

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return desk_page(self, request)

    def may_act(self, request: HttpRequest, row: TtlClass) -> bool:
        return may_act(request)

    def facts(self, row: TtlClass) -> list[tuple[str, Any]]:
        state = state_of(row)
        return [
            ("State", class_badge(state)),
            ("Open batch", state.batch.number if state.batch else "none"),
            ("Addresses left in it", grouped(state.left)),
            ("Prepared batches", state.prepared),
        ]

    def after_action(self, row: TtlClass) -> str:
        return reverse("admin:tipping_ttlclass_changelist")

    def save_model(self, request: HttpRequest, obj: TtlClass, form: Any, change: bool) -> None:
        ttl_classes.save_ttl_class(obj)

    # --- deleting, by the service ---

    def has_delete_permission(self, request: HttpRequest, obj: TtlClass | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and not (obj is not None and obj.is_default)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        return [f"TTL class: {each}, with its prepared batches" for each in objs], {}, set(), []

    def delete_model(self, request: HttpRequest, obj: TtlClass) -> None:
        ttl_classes.delete_ttl_class(obj)

    name = column("TTL", lambda row: in_units(row.ttl_seconds), "ttl_seconds")
