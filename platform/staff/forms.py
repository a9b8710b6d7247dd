"""The forms of the second factor."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget


class CodeForm(forms.Form):
    """A code of the app, or a recovery code."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=UnfoldAdminTextInputWidget(
            attrs={"autocomplete": "one-time-code", "autofocus": "", "spellcheck": "false"}
        ),
        error_messages={"required": "Give the code"},
    )


class PasswordAndCodeForm(CodeForm):
    """For what takes more than an open session; a user without a password gives the code alone."""

    field_order = ("password", "code")

    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs.pop("autofocus", None)
        if not user.has_usable_password():
            del self.fields["password"]
