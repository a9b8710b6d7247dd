"""The forms of a webhook, and of the address for alerts."""

from typing import Any

from django import forms

from alerts.kinds import kinds_for


class WebhookForm(forms.Form):
    """URL and events of a webhook."""

    name = forms.CharField(max_length=100, help_text="A name for lists")
    url = forms.CharField(
        label="URL",
        max_length=500,
        widget=forms.URLInput(attrs={"placeholder": "https://", "spellcheck": "false"}),
        help_text="Where events are posted as JSON, signed",
    )
    kinds = forms.MultipleChoiceField(
        label="Events",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: all, including future kinds",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen: Any = self.fields["kinds"]
        chosen.choices = [
            (kind.name, f"{kind.name}: {kind.meaning.replace('`', '')}")
            for kind in kinds_for(staff=False)
        ]


class AlertAddressForm(forms.Form):
    """Where alerts are to be mailed."""

    email = forms.EmailField(label="Another address", max_length=254)
