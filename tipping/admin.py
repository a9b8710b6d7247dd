"""The ladder in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from tipping.models import TtlClass
from tipping.services import ladder


class TtlClassForm(forms.ModelForm):  # type: ignore[type-arg]
    """Refuses in words what would leave the ladder without a default."""

    def clean_is_default(self) -> bool:
        wanted: bool = self.cleaned_data["is_default"]
        if not wanted and not ladder.has_other_default(self.instance):
            raise forms.ValidationError(
                "One class is the default: make another one the default instead"
            )
        return wanted

    def _get_validation_exclusions(self) -> set[str]:
        # A new default takes the old one's place when it is saved: no conflict to be told here.
        return {*super()._get_validation_exclusions(), "is_default"}  # type: ignore[misc]


@admin.register(TtlClass)
class TtlClassAdmin(ModelAdmin):  # type: ignore[misc]
    form = TtlClassForm
    list_display = ("ttl_seconds", "window_seconds", "is_default")
    actions = None

    def save_model(self, request: HttpRequest, obj: TtlClass, form: Any, change: bool) -> None:
        ladder.save_ttl_class(obj)

    def delete_model(self, request: HttpRequest, obj: TtlClass) -> None:
        ladder.delete_ttl_class(obj)

    def has_delete_permission(self, request: HttpRequest, obj: TtlClass | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and not (obj is not None and obj.is_default)
