"""The forms of keys: issuing, changing, rotating."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import forms

from access.admin.key_formatting import limits_of_tiers
from access.callers import SCOPES
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
from portal.services.key_rights import LONGEST_OVERLAP, given
from staff.formatting import utc

_MOST_NETWORKS = 100


class RestrictedForm(forms.Form):
    """From where and until when a secret is valid."""

    networks = NetworksField(
        most=_MOST_NETWORKS,
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "203.0.113.0/24", "spellcheck": "false"}
        ),
    )
    expires_at = forms.DateTimeField(
        label="Expires",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="In UTC. Leave empty if it does not expire.",
    )


class KeyForm(RestrictedForm):
    """The settings of a key that customers may change."""

    origins = OriginsField(
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "https://app.example", "spellcheck": "false"}
        )
    )
    methods = MethodsField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "getSlot", "spellcheck": "false"}),
        help_text="Methods that the key may call, one a line. Leave empty to allow all methods of"
        " its scopes.",
    )
    requests_per_second = forms.FloatField(
        label="Calls a second",
        required=False,
        min_value=0.01,
        max_value=1_000_000,
        help_text=RATE_HELP,
    )
    name = forms.CharField(max_length=100, help_text=NAME_HELP)
    environment = forms.CharField(max_length=30, required=False, help_text=ENVIRONMENT_HELP)
    scopes = ScopesField(
        widget=forms.CheckboxSelectMultiple,
        help_text="What the key may be used for. Fewer are safer.",
    )
    field_order: Sequence[str] = ("name", "environment", "scopes", "networks", "expires_at")

    def __init__(self, *args: Any, scopes: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered: Any = self.fields["scopes"]
        offered.offer(scopes)

    def expiry(self, standing: datetime | None) -> datetime | None:
        """The chosen time; if unchanged, the standing one with its seconds."""
        chosen: datetime | None = self.cleaned_data["expires_at"]
        if standing is not None and chosen == standing.replace(second=0, microsecond=0):
            return standing
        return chosen


class IssueForm(KeyForm):
    """A new key, with the tier of an existing one."""

    like = forms.TypedChoiceField(coerce=int, label="Tier and rights")
    field_order = ("name", "like", "environment", "scopes")

    def __init__(self, *args: Any, models: Sequence[ApiKey], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        like: Any = self.fields["like"]
        like.choices = [(key.pk, _label(key)) for key in models]
        tiers = sorted({key.tier for key in models}, key=lambda tier: tier.rank)
        like.help_text = limits_of_tiers(
            "A new key has the tier of an existing key, and at most its scopes and expiry.", tiers
        )


def _label(key: ApiKey) -> str:
    rights = given(key)
    scopes = "all scopes" if len(rights.scopes) == len(SCOPES) else ", ".join(rights.scopes)
    end = rights.expires_at
    until = "" if end is None else f"; until {utc(end)}"
    month = "" if key.calls_per_month is None else f"; {key.calls_per_month:,} calls a month"
    return f"{key.tier}, as {key}: {scopes}{month}{until}"


class RotateForm(forms.Form):
    """How long the old key stays valid after a rotation."""

    overlap_hours = overlap_field(LONGEST_OVERLAP.days * 24)


class ExtendForm(forms.Form):
    """How much longer the old key of a rotation stays valid."""

    more_hours = more_hours_field(LONGEST_OVERLAP.days * 24)
