"""The form of a webhook: owner, URL, and events."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.html import format_html

from access.errors import ActionRefused
from access.models import Customer
from alerts import addresses
from alerts.kinds import KINDS, Audience, Kind, kinds_for
from alerts.models import Webhook


def _choices(kinds: list[Kind], *, of_all: bool) -> list[tuple[str, str]]:
    """Each with its meaning; with `of_all` those of staff are marked."""
    return [
        (
            kind.name,
            format_html(
                "<code>{}</code><span>{}{}</span>",
                kind.name,
                kind.meaning,
                " (staff only)" if of_all and kind.audience is Audience.STAFF else "",
            ),
        )
        for kind in kinds
    ]


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]
    """Validates what the service would refuse."""

    kinds = forms.MultipleChoiceField(
        required=False,
        label="Events",
        # Plain boxes in one column: the labels are sentences.
        widget=forms.CheckboxSelectMultiple(attrs={"class": "tm-box"}),
        help_text="Events to post; none chosen: all, including future kinds",
    )

    class Meta:
        model = Webhook
        fields = ("customer", "name", "url", "kinds")
        help_texts = {
            "customer": "Whose events it receives. Leave empty for those of staff",
            "name": "A name for lists",
            "url": "Where events are posted to, as https://host/path. Redirects are not followed",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "kinds" not in self.fields:  # read-only
            return
        is_new = self.instance.pk is None
        if is_new:
            kinds = [kind for kind in KINDS.values() if kind.name != "test"]
        else:
            kinds = kinds_for(staff=self.instance.customer_id is None)
        self.fields["kinds"].choices = _choices(kinds, of_all=is_new)  # type: ignore[attr-defined]

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"].strip()
        try:
            addresses.check_url(url, private_allowed=settings.WEBHOOKS_PRIVATE)
        except ActionRefused as refusal:
            raise forms.ValidationError(str(refusal)) from None
        return url

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance.pk is not None or "kinds" not in cleaned:
            return cleaned
        customer: Customer | None = cleaned.get("customer")
        known = {kind.name for kind in kinds_for(staff=customer is None)}
        unknown = [name for name in cleaned["kinds"] if name not in known]
        if unknown:
            whose = "staff" if customer is None else "customers"
            self.add_error("kinds", f"No events of {whose}: {', '.join(unknown)}")
        return cleaned
