"""The forms of keys: issuing one, changing one, and the overlap of a rotation."""

import re
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
)

from access.callers import SCOPES
from access.errors import ActionRefused
from access.method_names import listed_methods
from access.models import ApiKey
from access.networks import read_network
from access.services import parked_secrets

_MEANINGS = {
    "priority": "send transactions",
    "bundle": "send bundles and ask about them",
    "rewind": "read accounts as they were",
    "historical": "read blocks and transactions",
    "simulate": "simulate transactions and bundles",
    "proxy": "calls that are passed on to a node",
}
MOST_OVERLAP_HOURS = 24 * 90


class ScopesField(forms.MultipleChoiceField):
    """One checkbox for each scope, with its meaning."""

    def __init__(self, **kwargs: Any) -> None:
        choices = [(scope, f"{scope}: {_MEANINGS.get(scope, scope)}") for scope in SCOPES]
        super().__init__(
            choices=choices,
            # Plain boxes in one column: the labels are sentences.
            widget=forms.CheckboxSelectMultiple(attrs={"class": "tm-box"}),
            error_messages={"required": "Choose at least one: a key without scopes may do nothing"},
            **kwargs,
        )


class NetworksField(forms.CharField):
    """Networks, one a line (or with commas) → a list of texts."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "203.0.113.0/24"})

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        found, wrong = [], []
        for text in re.split(r"[\s,;]+", value or ""):
            if not text:
                continue
            try:
                network = str(read_network(text))
            except ValueError:
                wrong.append(text[:60])
            else:
                if network not in found:
                    found.append(network)
        if wrong:
            raise forms.ValidationError(
                f"Neither a network nor an address: {', '.join(wrong)}. Write 203.0.113.0/24,"
                " 2001:db8::/32 or a single address, one a line"
            )
        return found

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(initial or "") != self.to_python(data or ""))
        except forms.ValidationError:
            return True


class MethodsField(forms.CharField):
    """Names of methods, one a line (or with commas) → a list of names."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "getSlot"})

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        try:
            return listed_methods(text for text in re.split(r"[\s,;]+", value or "") if text)
        except ActionRefused as refusal:
            raise forms.ValidationError(str(refusal)) from None

    prepare_value = NetworksField.prepare_value
    has_changed = NetworksField.has_changed


class _KeyForm(forms.ModelForm):  # type: ignore[type-arg]
    scopes = ScopesField(initial=list(SCOPES), help_text="What the key may be used for")
    networks = NetworksField(
        required=False,
        help_text="Addresses that may use the key, one network or address a line; empty: any",
    )
    methods = MethodsField(
        required=False,
        help_text="Methods that the key may call, one a line: the JSON-RPC name, or tipinfo,"
        " fetchtipaddress and the like for plain GETs as usage names them; empty: every method of"
        " its scopes",
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
            "methods",
            "calls_per_month",
            "expires_at",
            "notes",
        )
        help_texts = {
            "name": "What the key is for; shown in lists, no secret",
            "tier": "Decides the limits, and which tier hosts the key opens",
            "environment": "For your own sorting: production, staging, …",
            "calls_per_month": "Calls in a calendar month (UTC); above them calls are answered"
            " 429 until the next month. Empty: as the tier",
            "expires_at": "UTC; empty: never",
        }


class IssueKeyForm(_KeyForm):
    """A new key."""

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

    overlap_hours = forms.IntegerField(
        label="Overlap in hours",
        min_value=0,
        max_value=MOST_OVERLAP_HOURS,
        initial=24,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="The old key stays valid this long beside the new one, then it expires."
        " 0 ends it at once.",
    )
