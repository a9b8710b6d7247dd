"""Filters in the admin: whose writes are not archived."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from solders.pubkey import Pubkey
from unfold.widgets import UnfoldAdminTextInputWidget

from rewind.models import FilteredPubkey, Owner
from rewind.services import filters
from staff.pages import StaffAdmin

_HINT = "Holds for slots that are recorded from now on; what is archived stays."


class PubkeyField(forms.CharField):
    """A pubkey in base58."""

    widget = UnfoldAdminTextInputWidget

    def clean(self, value: Any) -> Pubkey:
        text = super().clean(value).strip()
        try:
            return Pubkey.from_string(text)
        except ValueError:
            raise forms.ValidationError("Not a pubkey: 32 bytes in base58 are expected") from None


class OwnerForm(forms.ModelForm):  # type: ignore[type-arg]
    key = PubkeyField(label="Owner", help_text=f"The program's pubkey. {_HINT}")

    class Meta:
        model = Owner
        fields = ()


class FilteredPubkeyForm(forms.ModelForm):  # type: ignore[type-arg]
    key = PubkeyField(label="Account", help_text=_HINT)

    class Meta:
        model = FilteredPubkey
        fields = ()


class _FilterAdmin(StaffAdmin):
    """A filter is set or taken away, never edited."""

    list_display = ("shown",)
    actions = None

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("key",) if obj is None else ("shown",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else ("shown",)

    @admin.display(description="pubkey")
    def shown(self, row: Any) -> SafeString:
        return format_html("<code>{}</code>", row.pubkey)


@admin.register(Owner)
class FilteredOwnerAdmin(_FilterAdmin):
    form = OwnerForm
    ordering = ("id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Owner]:
        queryset: QuerySet[Owner] = super().get_queryset(request)
        return queryset.filter(filtered=True)

    def save_model(self, request: HttpRequest, obj: Owner, form: Any, change: bool) -> None:
        obj.pubkey = form.cleaned_data["key"]
        obj.pk = filters.filter_owner(obj.pubkey, filtered=True).pk

    def delete_model(self, request: HttpRequest, obj: Owner) -> None:
        filters.filter_owner(obj.pubkey, filtered=False)  # its number stays: changes name it


@admin.register(FilteredPubkey)
class FilteredPubkeyAdmin(_FilterAdmin):
    form = FilteredPubkeyForm
    ordering = ("pubkey",)

    def save_model(
        self, request: HttpRequest, obj: FilteredPubkey, form: Any, change: bool
    ) -> None:
        obj.pubkey = form.cleaned_data["key"]
        filters.filter_account(obj.pubkey, filtered=True)

    def delete_model(self, request: HttpRequest, obj: FilteredPubkey) -> None:
        filters.filter_account(obj.pubkey, filtered=False)
