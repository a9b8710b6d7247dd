"""The forms of keys: issuing one, changing one, and the overlap of a rotation."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
)

from access import store
from access.admin.key_formatting import limits_of_tiers
from access.callers import ANONYMOUS, SCOPES
from access.errors import ActionRefused
from access.key_fields import (
    ENVIRONMENT_HELP,
    NAME_HELP,
    RATE_HELP,
    MethodsField,
    NetworksField,
    OriginsField,
    ScopesField,
    more_hours_field,
    overlap_field,
)
from access.models import ApiKey
from access.services import parked_secrets

MOST_OVERLAP_HOURS = 24 * 90


class _KeyForm(forms.ModelForm):  # type: ignore[type-arg]
    # Plain boxes in one column: the labels are sentences.
    scopes = ScopesField(
        widget=forms.CheckboxSelectMultiple(attrs={"class": "tm-box"}),
        initial=list(SCOPES),
        help_text="What the key may be used for",
    )
    networks = NetworksField(
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "203.0.113.0/24"})
    )
    origins = OriginsField(
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "https://app.example"})
    )
    methods = MethodsField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "getSlot"}),
        help_text="Methods that the key may call, one a line: the JSON-RPC name, or tipinfo,"
        " fetchtipaddress and the like for plain GETs as usage names them. Leave empty to allow"
        " all methods of its scopes",
    )

    class Meta:
        model = ApiKey
        fields = (
            "customer",
            "tier",
            "name",
            "environment",
            "scopes",
            "networks",
            "origins",
            "methods",
            "requests_per_second",
            "calls_per_month",
            "expires_at",
            "notes",
        )
        help_texts = {
            "name": NAME_HELP,
            "tier": "Decides the limits, and which tier hosts the key opens",
            "environment": ENVIRONMENT_HELP,
            "requests_per_second": RATE_HELP,
            "calls_per_month": "Calls in a calendar month (UTC); above them calls are answered"
            " 429 until the next month. If empty, the tier's limit applies",
            "expires_at": "In UTC. Leave empty if it does not expire.",
        }


class IssueKeyForm(_KeyForm):
    """A new key, of the lowest tier of keys unless another one is chosen."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["tier"]
        tiers = [tier for tier in store.tiers() if tier.name != ANONYMOUS]
        if tiers:
            field.initial = tiers[0].pk
            field.help_text = limits_of_tiers(f"{field.help_text}.", tiers)

    def clean_expires_at(self) -> datetime | None:
        expiry: datetime | None = self.cleaned_data["expires_at"]
        if expiry is not None and expiry <= timezone.now():
            raise forms.ValidationError("The expiry is past: choose a later moment")
        return expiry

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                parked_secrets.check()
            except ActionRefused as refusal:
                raise forms.ValidationError(str(refusal)) from None
        return cleaned


class EditKeyForm(_KeyForm):
    """Changing a key. Each field submits its initial value too, so that a page opened before
    another user's change does not undo it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean_expires_at(self) -> datetime | None:
        expiry: datetime | None = self.cleaned_data["expires_at"]
        if "expires_at" in self.changed_data and expiry is not None and expiry <= timezone.now():
            raise forms.ValidationError(
                "The expiry is past: to end a key now, suspend or revoke it"
            )
        return expiry


class OverlapForm(forms.Form):
    """How long the old key stays valid after a rotation."""

    overlap_hours = overlap_field(MOST_OVERLAP_HOURS, widget=UnfoldAdminIntegerFieldWidget())


class ExtendForm(forms.Form):
    """How much longer the old key of a rotation stays valid."""

    more_hours = more_hours_field(MOST_OVERLAP_HOURS, widget=UnfoldAdminIntegerFieldWidget())
