"""How it stands with a webhook, a delivery, a try: one coloured word, the rest as a hint."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString

from alerts.kinds import KINDS
from alerts.models import Attempt, Delivery, Webhook
from staff.formatting import ago, badge, duration, grouped, utc


def webhook_standing(webhook: Webhook, now: datetime) -> SafeString:
    if not webhook.is_enabled:
        return badge("off", "quiet", webhook.disabled_reason or "switched off")
    if webhook.failing_since is not None:
        since = duration(now - webhook.failing_since)
        since_when = utc(webhook.failing_since)
        hint = f"{webhook.last_problem}; no success since {since_when}, off after three days"
        return badge(f"failing for {since}", "bad", hint)
    if webhook.delivered_at is None:
        return badge("not used yet", "quiet", "Nothing was delivered to it so far")
    return badge("working", "good", f"Last success: {utc(webhook.delivered_at)}")


def delivery_standing(delivery: Delivery, now: datetime) -> SafeString:
    if delivery.state == Delivery.State.DELIVERED:
        at = delivery.delivered_at
        return badge("delivered", "good", "" if at is None else utc(at))
    if delivery.state == Delivery.State.FAILED:
        return badge("given up", "bad", "It is not tried any more, unless told to")
    if not delivery.tries:
        return badge("waiting", "quiet", "It goes out within seconds")
    hint = f"Tried again at {utc(delivery.due_at, seconds=True)}"
    if delivery.due_at <= now:
        return badge("retrying now", "warning", hint)
    again = duration(delivery.due_at - now)
    return badge(f"retry in {again}", "warning", hint)


def kind_word(name: str) -> SafeString:
    """The kind's name, with what it means as a hint."""
    kind = KINDS.get(name)
    return badge(name, "quiet", "" if kind is None else kind.meaning)


def delivery_rows(deliveries: Iterable[Delivery], now: datetime) -> list[dict[str, Any]]:
    """Rows of templates/admin/alerts/deliveries.html."""
    return [
        {
            "pk": delivery.pk,
            "kind": kind_word(delivery.event.kind),
            "about": delivery.event.about,
            "to": delivery.webhook or delivery.mail_to,
            "at": ago(delivery.event.at, now),
            "standing": delivery_standing(delivery, now),
            "tries": delivery.tries,
        }
        for delivery in deliveries
    ]


def attempt_rows(tries: Iterable[Attempt], now: datetime, *, by_mail: bool) -> list[dict[str, Any]]:
    """Rows of templates/admin/alerts/delivery/attempts.html."""
    return [
        {
            "at": ago(each.at, now),
            "outcome": _outcome(each, by_mail=by_mail),
            "problem": each.problem,
            "answer": each.answer,
            "took": f"{grouped(each.milliseconds)} ms",
        }
        for each in tries
    ]


def _outcome(each: Attempt, *, by_mail: bool) -> SafeString:
    if not each.problem:
        return badge("taken" if by_mail else str(each.status), "good")
    return badge("no answer" if each.status is None else str(each.status), "bad")
