"""Form fields of keys, for the admin and for the portal."""

import re
from collections.abc import Iterable
from typing import Any

from django import forms

from access.callers import SCOPES
from access.errors import ActionRefused
from access.method_names import listed_methods
from access.networks import read_network
from access.services.keys import listed_origins

_MEANINGS = {
    "priority": "send transactions",
    "bundle": "send bundles and ask about them",
    "rewind": "read accounts as they were",
    "historical": "read blocks and transactions",
    "simulate": "simulate transactions and bundles",
    "proxy": "calls that are passed on to a node",
}
_NETWORKS_HELP = "Networks and addresses that may use it, one a line. Leave empty to allow any."
_ORIGINS_HELP = (
    "Web pages that may use the key, one origin a line: https://app.example or"
    " https://*.example.com. Programs then cannot use it. Leave empty to allow any page and any"
    " program."
)
RATE_HELP = "At most the limit of its tier, which applies if this is empty."
NAME_HELP = "What the key is for. Lists show it: do not enter a secret."
ENVIRONMENT_HELP = "For your own sorting: production, staging, …"


class ScopesField(forms.MultipleChoiceField):
    """One checkbox for each of the scopes, with its meaning."""

    def __init__(self, **kwargs: Any) -> None:
        required = "Choose at least one: a key without scopes may do nothing"
        super().__init__(error_messages={"required": required}, **kwargs)
        self.offer(SCOPES)

    def offer(self, scopes: Iterable[str]) -> None:
        offered = set(scopes)
        self.choices = [
            (scope, f"{scope}: {_MEANINGS.get(scope, scope)}")
            for scope in SCOPES
            if scope in offered
        ]


class _ListField(forms.CharField):
    """Values, one a line (or with commas) → a list of texts."""

    def read(self, parts: list[str]) -> list[str]:
        raise NotImplementedError

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        return self.read([part for part in re.split(r"[\s,;]+", value or "") if part])

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(initial or "") != self.to_python(data or ""))
        except forms.ValidationError:
            return True


class NetworksField(_ListField):
    """Networks; at most `most`."""

    def __init__(self, *, most: int | None = None, **kwargs: Any) -> None:
        super().__init__(required=False, help_text=_NETWORKS_HELP, **kwargs)
        self.most = most

    def read(self, parts: list[str]) -> list[str]:
        found: dict[str, None] = {}
        wrong = []
        for text in parts:
            try:
                found[str(read_network(text))] = None
            except ValueError:
                wrong.append(text[:60])
        if wrong:
            raise forms.ValidationError(
                f"Neither a network nor an address: {', '.join(wrong)}. Write 203.0.113.0/24,"
                " 2001:db8::/32 or a single address, one a line"
            )
        if self.most is not None and len(found) > self.most:
            raise forms.ValidationError(f"At most {self.most} networks")
        return list(found)


class OriginsField(_ListField):
    """Web origins."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, label="Web origins", help_text=_ORIGINS_HELP, **kwargs)

    def read(self, parts: list[str]) -> list[str]:
        try:
            return listed_origins(parts)
        except ActionRefused as refusal:
            raise forms.ValidationError(str(refusal)) from None


class MethodsField(_ListField):
    """Names of methods."""

    def read(self, parts: list[str]) -> list[str]:
        try:
            return listed_methods(parts)
        except ActionRefused as refusal:
            raise forms.ValidationError(str(refusal)) from None


def more_hours_field(most_hours: int, **kwargs: Any) -> forms.IntegerField:
    """How much longer the old key of a rotation stays valid."""
    return forms.IntegerField(
        label="Hours more",
        min_value=1,
        max_value=most_hours,
        initial=24,
        help_text="The old key stays valid this much longer than it would now.",
        **kwargs,
    )


def overlap_field(most_hours: int, **kwargs: Any) -> forms.IntegerField:
    """How long the old key stays valid after a rotation."""
    return forms.IntegerField(
        label="Overlap in hours",
        min_value=0,
        max_value=most_hours,
        initial=24,
        help_text="The old key stays valid this long beside the new one, then it expires."
        " 0 ends it at once.",
        **kwargs,
    )
