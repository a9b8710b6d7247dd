"""The forms of an event rule, and of a replay of its deliveries."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms

from access.models import ApiKey
from alerts.conditions import FATES, MINUTES, PERIODS, Trigger
from alerts.models import Delivery, Webhook

_SPANS = {15: "15 minutes", 60: "1 hour", 360: "6 hours"}
_FATE_TEXTS = {
    "landed": "landed: in a finalized block, without an error",
    "failed": "failed: in a finalized block, with an error",
    "expired": "expired: lost, although it was sent",
    "refused": "refused: lost, because no upstream accepted it",
}
_OUTCOMES = (("any", "any"), ("landed", "landed"), ("failed", "failed"))


def _address(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=44,
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
        help_text=help_text,
    )


def _states() -> forms.Field:
    return forms.MultipleChoiceField(
        label="Fates",
        choices=[(fate, _FATE_TEXTS[fate]) for fate in FATES],
        widget=forms.CheckboxSelectMultiple,
        initial=list(FATES),
    )


def _keys() -> forms.Field:
    return forms.TypedMultipleChoiceField(
        label="Keys",
        required=False,
        coerce=int,
        widget=forms.CheckboxSelectMultiple,
        help_text="Only submissions of these keys count. Choose none to count all keys",
    )


class FiltersField(forms.CharField):
    """A JSON list of filters."""

    widget = forms.Textarea

    def prepare_value(self, value: Any) -> Any:
        return json.dumps(value) if isinstance(value, list) and value else value or ""

    def clean(self, value: Any) -> list[Any]:
        text = super().clean(value)
        if not text:
            return []
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, list):
            raise forms.ValidationError('Write a JSON list, such as [{"dataSize": 165}]')
        return found


# The fields of each trigger's condition.
_FIELDS: dict[str, dict[str, Callable[[], forms.Field]]] = {
    Trigger.SUBMISSION: {"states": _states, "keys": _keys},
    Trigger.LANDING_SHARE: {
        "below_percent": lambda: forms.IntegerField(
            label="Threshold in percent",
            min_value=1,
            max_value=100,
            initial=80,
            help_text="You are notified when fewer land, and again when enough land",
        ),
        "minutes": lambda: forms.TypedChoiceField(
            label="Counted over", coerce=int, choices=[(n, _SPANS[n]) for n in MINUTES], initial=60
        ),
        "least_submissions": lambda: forms.IntegerField(
            label="Minimum of transactions",
            min_value=1,
            max_value=1_000_000,
            initial=20,
            help_text="With fewer settled transactions in that time the share is not compared",
        ),
        "keys": _keys,
    },
    Trigger.TIP_SPEND: {
        "above_lamports": lambda: forms.IntegerField(
            label="Threshold in lamports",
            min_value=1,
            max_value=10**18,
            help_text="1 SOL is 1,000,000,000 lamports. Tips of landed transactions count",
        ),
        "period": lambda: forms.ChoiceField(
            label="Period", choices=[(name, name) for name in PERIODS], initial="day",
            help_text="In UTC. You are notified at most once a period",
        ),
        "keys": _keys,
    },
    Trigger.ACCOUNT: {
        "address": lambda: _address("Account", "Its address. Events come once its slot is final")
    },
    Trigger.PROGRAM: {
        "program": lambda: _address("Program", "Its address. Events are of accounts that it owns"),
        "filters": lambda: FiltersField(
            required=False,
            max_length=20_000,
            widget=forms.Textarea(
                attrs={"rows": 3, "placeholder": '[{"dataSize": 165}]', "spellcheck": "false"}
            ),
            help_text="JSON, as in programSubscribe: at most four filters; none means all accounts",
        ),
    },
    Trigger.MENTION: {
        "address": lambda: _address("Address", "Events are of transactions that mention it"),
        "outcome": lambda: forms.ChoiceField(choices=_OUTCOMES, initial="any"),
    },
}  # fmt: skip


class RuleForm(forms.Form):
    """Name, condition and recipients of a rule with one trigger."""

    name = forms.CharField(max_length=100, help_text="A name for lists")

    def __init__(
        self,
        *args: Any,
        trigger: str,
        keys: Iterable[ApiKey],
        webhooks: Iterable[Webhook],
        addresses: str,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._webhooks = {str(each.pk): each for each in webhooks}
        self._members = list(_FIELDS[trigger])
        for name, field in _FIELDS[trigger].items():
            self.fields[name] = field()
        if "keys" in self.fields:
            offered: Any = self.fields["keys"]
            offered.choices = [(key.pk, str(key)) for key in keys]
        self.fields["webhook"] = forms.ChoiceField(
            label="Post to",
            required=False,
            choices=[("", "no webhook"), *((pk, each.name) for pk, each in self._webhooks.items())],
            help_text="One of your webhooks. It gets these events, whatever types it has chosen",
        )
        self.fields["mails"] = forms.ChoiceField(
            label="Mail",
            required=False,
            choices=[("", "no mails"), ("on", f"mail to {addresses or 'the alert address'}")],
            help_text="At most one mail a minute, with all events since the last one",
        )

    def values(self) -> dict[str, Any]:
        """Arguments of alerts.services.rules."""
        data = self.cleaned_data
        return {
            "name": data["name"],
            "condition": {name: data[name] for name in self._members},
            "webhook": self._webhooks.get(data["webhook"]),
            "mails": data["mails"] == "on",
        }


_DATETIME = "%Y-%m-%dT%H:%M"


class ReplayForm(forms.Form):
    """Which deliveries to send again."""

    since = forms.DateTimeField(
        label="From",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_DATETIME),
        help_text="UTC",
    )
    until = forms.DateTimeField(
        label="Until",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_DATETIME),
        help_text="In UTC. Leave empty for now",
    )
    which = forms.ChoiceField(
        label="Deliveries",
        choices=[("failed", "given up"), ("all", "delivered and given up")],
    )

    @classmethod
    def of_last_day(cls, now: datetime) -> "ReplayForm":
        return cls(initial={"since": (now - timedelta(days=1)).astimezone(UTC), "which": "failed"})

    @property
    def states(self) -> list[str]:
        failed = Delivery.State.FAILED.value
        if self.cleaned_data["which"] == "failed":
            return [failed]
        return [failed, Delivery.State.DELIVERED.value]
