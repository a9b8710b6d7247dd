"""The forms of keys: issuing, changing, rotating."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import forms

from access.callers import SCOPES
from access.models import ApiKey
from access.networks import read_network
from portal.services.key_actions import LONGEST_OVERLAP
from portal.services.key_rights import given

MEANINGS = {
    "priority": "send transactions",
    "bundle": "send bundles and ask about them",
    "rewind": "read accounts as they were",
    "historical": "read blocks and transactions",
    "simulate": "simulate transactions and bundles",
    "proxy": "calls that are passed on to a node",
}


class NetworksField(forms.CharField):
    """Networks, one a line → a list of texts."""

    widget = forms.Textarea(
        attrs={"rows": 3, "placeholder": "203.0.113.0/24", "spellcheck": "false"}
    )

    def to_python(self, value: Any) -> Any:
        found: list[str] = []
        wrong: list[str] = []
        for text in filter(None, re.split(r"[\s,;]+", value or "")):
            try:
                network = str(read_network(text))
            except ValueError:
                wrong.append(text[:60])
            else:
                found += [] if network in found else [network]
        if wrong:
            raise forms.ValidationError(
                f"Neither a network nor an address: {', '.join(wrong)}. Write 203.0.113.0/24,"
                " 2001:db8::/32 or a single address, one a line"
            )
        if len(found) > 100:
            raise forms.ValidationError("At most 100 networks")
        return found


class KeyForm(forms.Form):
    """The settings of a key that customers may change."""

    name = forms.CharField(
        max_length=100, help_text="What the key is for; shown in lists, no secret"
    )
    environment = forms.CharField(
        max_length=30, required=False, help_text="For your own sorting: production, staging, …"
    )
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one: a key without scopes may do nothing"},
        help_text="What the key may be used for; fewer are safer",
    )
    networks = NetworksField(
        required=False,
        help_text="Addresses that may use the key, one network or address a line; empty: any",
    )
    expires_at = forms.DateTimeField(
        label="Expires",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="UTC; empty: never",
    )

    def __init__(self, *args: Any, scopes: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen: Any = self.fields["scopes"]
        chosen.choices = [
            (scope, f"{scope}: {MEANINGS.get(scope, scope)}") for scope in SCOPES if scope in scopes
        ]

    def expiry(self, standing: datetime | None) -> datetime | None:
        """The chosen time; if unchanged, the standing one with its seconds."""
        chosen: datetime | None = self.cleaned_data["expires_at"]
        if standing is not None and chosen == standing.replace(second=0, microsecond=0):
            return standing
        return chosen


class IssueForm(KeyForm):
    """A new key, with the tier of an existing one."""

    like = forms.TypedChoiceField(coerce=int, label="Tier and rights of")
    field_order = ("name", "like", "environment", "scopes", "networks", "expires_at")

    def __init__(self, *args: Any, models: Sequence[ApiKey], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        like: Any = self.fields["like"]
        like.choices = [(key.pk, _label(key)) for key in models]
        like.help_text = (
            "A new key has the tier of an existing key, and at most its scopes and expiry"
        )


def _label(key: ApiKey) -> str:
    rights = given(key)
    scopes = "all scopes" if len(rights.scopes) == len(SCOPES) else ", ".join(rights.scopes)
    end = rights.expires_at
    until = "" if end is None else f"; until {end.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{key}: {key.tier}; {scopes}{until}"


class RotateForm(forms.Form):
    """How long the old key stays valid after a rotation."""

    overlap_hours = forms.IntegerField(
        label="Overlap in hours",
        min_value=0,
        max_value=LONGEST_OVERLAP.days * 24,
        initial=24,
        help_text="The old key stays valid this long beside the new one; 0 ends it at once",
    )
