"""The ladder of TTL classes: editing it, and the way to the desk and its orders."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from staff.pages import StaffAdmin
from tipping.admin.desk import desk_page
from tipping.admin.desk_orders import order_page
from tipping.errors import ClassHasBatches, DefaultClassRequired
from tipping.models import TtlClass
from tipping.services import ttl_classes


class TtlClassForm(forms.ModelForm):  # type: ignore[type-arg]
    """Refuses in words what would leave the ladder without a default."""

    def clean_is_default(self) -> bool:
        wanted: bool = self.cleaned_data["is_default"]
        if not wanted and not ttl_classes.has_other_default(self.instance):
            raise forms.ValidationError(
                "One class is the default: make another one the default instead"
            )
        return wanted

    def _get_validation_exclusions(self) -> set[str]:
        # A new default takes the old one's place when it is saved: no conflict to be told here.
        return {*super()._get_validation_exclusions(), "is_default"}  # type: ignore[misc]


@admin.register(TtlClass)
class TtlClassAdmin(StaffAdmin):
    form = TtlClassForm
    # The page of the list is the desk.
    list_display = ("name",)
    actions: Any = None

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return desk_page(self, request)

    def get_urls(self) -> list[URLPattern]:
        order = self.admin_site.admin_view(self.order)
        return [
            path("order/<int:pk>/<str:name>/", order, name="tipping_ttlclass_order"),
            *super().get_urls(),
        ]

    def order(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        """The page that asks whether an order is meant."""
        return order_page(self, request, pk, name)

    def save_model(self, request: HttpRequest, obj: TtlClass, form: Any, change: bool) -> None:
        ttl_classes.save_ttl_class(obj)

    # --- deleting: the service knows what may go with a class ---

    def has_delete_permission(self, request: HttpRequest, obj: TtlClass | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and not (obj is not None and obj.is_default)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        return [f"TTL class: {each}, with its prepared batches" for each in objs], {}, set(), []

    def delete_model(self, request: HttpRequest, obj: TtlClass) -> None:
        ttl_classes.delete_ttl_class(obj)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            response: HttpResponse = super().delete_view(request, object_id, extra_context)
        except (ClassHasBatches, DefaultClassRequired) as refusal:
            text = str(refusal)
            messages.error(request, f"{text[0].upper()}{text[1:]}.")
            link = reverse("admin:tipping_ttlclass_change", args=[unquote(object_id)])
            return HttpResponseRedirect(link)
        return response

    @admin.display(description="TTL", ordering="ttl_seconds")
    def name(self, ttl_class: TtlClass) -> str:
        return f"{ttl_class.ttl_seconds:,} s"
