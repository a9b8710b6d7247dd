"""Filters in the admin: whose writes are not archived, and what that would save."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from solders.pubkey import Pubkey
from unfold.widgets import UnfoldAdminTextInputWidget

from rewind.coverage.admin.shares import percent_of
from rewind.models import FilteredPubkey, Owner
from rewind.recording.services import filters, forecasts
from rewind.recording.services.forecasts import Forecast
from staff import audit
from staff.columns import column
from staff.formatting import grouped, link, size_of
from staff.pages import StaffAdmin

_HINT = "Before it is set, the next page says what that would save."


class PubkeyField(forms.CharField):
    """A pubkey in base58."""

    widget = UnfoldAdminTextInputWidget

    def clean(self, value: Any) -> Pubkey:
        text = super().clean(value).strip()
        try:
            return Pubkey.from_string(text)
        except ValueError:
            raise forms.ValidationError("Not a pubkey: 32 bytes in base58 are expected") from None


class FilterForm(forms.ModelForm):  # type: ignore[type-arg]
    key = PubkeyField(help_text=_HINT)

    class Meta:
        fields = ()


class OwnerForm(FilterForm):
    key = PubkeyField(label="Owner", help_text=f"The program's pubkey. {_HINT}")


class AccountForm(FilterForm):
    key = PubkeyField(label="Account", help_text=_HINT)


class _FilterAdmin(StaffAdmin):
    """A filter is set or lifted, never edited; who may change filters may do both."""

    list_display = ("shown", "history")
    actions = None
    form: Any
    delete_confirmation_template = "admin/rewind/filter_lift.html"
    subject = ""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may_set(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_set(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def _may_set(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"rewind.change_{self.opts.model_name}")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        if request.method == "POST" and "confirmed" not in request.POST:
            form = self.get_form(request)(request.POST)
            if form.is_valid():
                return self._forecast_page(request, form.cleaned_data["key"])
        response: HttpResponse = super().add_view(request, form_url, extra_context)
        return response

    def _forecast_page(self, request: HttpRequest, pubkey: Pubkey) -> HttpResponse:
        context = {"title": f"Filter {self.subject}?", **self._effect(pubkey)}
        return self.page(request, "admin/rewind/filter_forecast.html", context)

    def _effect(self, pubkey: Pubkey) -> dict[str, Any]:
        forecast = _shown(self.forecast(pubkey))
        return {"subject": self.subject, "pubkey": pubkey, "forecast": forecast}

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        found = {} if row is None else self._effect(row.pubkey)
        context = {**found, "title": f"Lift the filter of {self.subject}?", **(extra_context or {})}
        response: HttpResponse = super().delete_view(request, object_id, context)
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.pubkey = form.cleaned_data["key"]
        self.set_filter(obj, filtered=True)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.set_filter(obj, filtered=False)

    # --- hooks ---

    def forecast(self, pubkey: Pubkey) -> Forecast:
        raise NotImplementedError

    def set_filter(self, row: Any, *, filtered: bool) -> None:
        raise NotImplementedError

    # --- the audit log ---

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        audit.record(request, "set a filter", obj)
        return admin.ModelAdmin.log_addition(self, request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            audit.record(request, "lifted a filter", row)
        return admin.ModelAdmin.log_deletions(self, request, queryset)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("key",) if obj is None else ("shown",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else ("shown",)

    shown = column("pubkey", lambda row: format_html("<code>{}</code>", row.pubkey))
    history = column(
        "history", lambda row: link("History", "rewind_account_history", address=row.pubkey)
    )


@admin.register(Owner)
class FilteredOwnerAdmin(_FilterAdmin):
    form = OwnerForm
    ordering = ("id",)
    subject = "this program's accounts"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Owner]:
        queryset: QuerySet[Owner] = super().get_queryset(request)
        return queryset.filter(filtered=True)

    def forecast(self, pubkey: Pubkey) -> Forecast:
        return forecasts.of_owner(pubkey)

    def set_filter(self, row: Owner, *, filtered: bool) -> None:
        # Its number stays when the filter is lifted: changes name it.
        row.pk = filters.filter_owner(row.pubkey, filtered=filtered).pk


@admin.register(FilteredPubkey)
class FilteredPubkeyAdmin(_FilterAdmin):
    form = AccountForm
    ordering = ("pubkey",)
    subject = "this account"

    def forecast(self, pubkey: Pubkey) -> Forecast:
        return forecasts.of_account(pubkey)

    def set_filter(self, row: FilteredPubkey, *, filtered: bool) -> None:
        filters.filter_account(row.pubkey, filtered=filtered)


def _shown(found: Forecast) -> dict[str, Any]:
    """Texts of the estimates, as (writes, size)."""
    days = found.epochs_per_day
    an_epoch = (found.writes / days, found.size / days) if days else (0.0, 0.0)
    return {
        "found": found,
        "share": percent_of(None if found.share is None else round(100 * found.share, 3)),
        "own": [
            ("Its own, a day", *_estimate(found.writes, found.size)),
            ("Its own, an epoch", *_estimate(*an_epoch)),
            ("All that is archived now, a day", *_estimate(found.all_writes, found.all_size)),
        ],
        "named": None if found.named is None else _about(found.named),
    }


def _estimate(writes: float, size: float) -> tuple[str, str]:
    return _about(writes), size_of(round(size))


def _about(number: float) -> str:
    """Two digits that count: a sample is not more precise."""
    whole = round(number)
    if whole < 100:
        return grouped(whole)
    unit = 10 ** (len(str(whole)) - 2)
    return grouped(round(whole / unit) * unit)
