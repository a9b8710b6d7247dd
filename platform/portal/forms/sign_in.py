"""The forms of signing in."""

from typing import Any

from django import forms

_EMAIL = forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True})


def _password(label: str, autocomplete: str, **attributes: str) -> forms.CharField:
    attrs = {"autocomplete": autocomplete, **attributes}
    return forms.CharField(
        label=label, max_length=200, strip=False, widget=forms.PasswordInput(attrs=attrs)
    )


class EmailForm(forms.Form):
    """Where a link is to be mailed."""

    email = forms.EmailField(label="E-mail address", max_length=150, widget=_EMAIL)


class SignInForm(EmailForm):
    """E-mail address and password."""

    password = _password("Password", "current-password")


class CodeForm(forms.Form):
    """The second step."""

    code = forms.CharField(
        max_length=20,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}
        ),
        help_text="Six digits of your app, or one of your recovery codes",
    )


class NewCodeForm(CodeForm):
    """The first code of an app that is being set up."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].help_text = "Six digits, which change every 30 seconds"


class PasswordForm(forms.Form):
    """A password, twice."""

    password = _password("New password", "new-password")
    again = _password("Repeat the new password", "new-password")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "again" in cleaned and cleaned.get("password") != cleaned["again"]:
            self.add_error("again", "The passwords differ")
        return cleaned


class ChangePasswordForm(PasswordForm):
    """A new password, with the current one."""

    current = _password("Current password", "current-password")
    field_order = ("current", "password", "again")


class TurnOffForm(forms.Form):
    """Password and code, to change the second factor; without a password the code alone."""

    current = _password("Password", "current-password", id="off_current")
    code = forms.CharField(
        label="Code",
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "id": "off_code"}),
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not user.has_usable_password():
            del self.fields["current"]
