"""How it stands with a webhook, a delivery, a try: one coloured word, the rest as a hint."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString

from access.admin import words
from alerts.kinds import KINDS
from alerts.models import Attempt, Delivery, Webhook


def webhook_standing(webhook: Webhook, now: datetime) -> SafeString:
    if not webhook.is_enabled:
        return words.coloured("off", "quiet", webhook.disabled_reason or "switched off")
    if webhook.failing_since is not None:
        since = words.length(now - webhook.failing_since)
        since_when = words.plain(webhook.failing_since)
        hint = f"{webhook.last_problem}; no success since {since_when}, off after three days"
        return words.coloured(f"failing for {since}", "bad", hint)
    if webhook.delivered_at is None:
        return words.coloured("not used yet", "quiet", "Nothing was delivered to it so far")
    return words.coloured("working", "good", f"Last success: {words.plain(webhook.delivered_at)}")


def delivery_standing(delivery: Delivery, now: datetime) -> SafeString:
    if delivery.state == Delivery.State.DELIVERED:
        at = delivery.delivered_at
        return words.coloured("delivered", "good", "" if at is None else words.plain(at))
    if delivery.state == Delivery.State.FAILED:
        return words.coloured("given up", "bad", "It is not tried any more, unless told to")
    if not delivery.tries:
        return words.coloured("waiting", "quiet", "It goes out within seconds")
    hint = f"Tried again at {words.plain(delivery.due_at, seconds=True)}"
    if delivery.due_at <= now:
        return words.coloured("retrying now", "warning", hint)
    again = words.length(delivery.due_at - now)
    return words.coloured(f"retry in {again}", "warning", hint)


def kind_word(name: str) -> SafeString:
    """The kind's name, with what it means as a hint."""
    kind = KINDS.get(name)
    return words.coloured(name, "quiet", "" if kind is None else kind.meaning)


def delivery_rows(deliveries: Iterable[Delivery], now: datetime) -> list[dict[str, Any]]:
    """Rows of templates/admin/alerts/deliveries.html."""
    return [
        {
            "pk": delivery.pk,
            "kind": kind_word(delivery.event.kind),
            "about": delivery.event.about,
            "to": delivery.webhook or delivery.mail_to,
            "at": words.moment(delivery.event.at, now),
            "standing": delivery_standing(delivery, now),
            "tries": delivery.tries,
        }
        for delivery in deliveries
    ]


def attempt_rows(tries: Iterable[Attempt], now: datetime, *, by_mail: bool) -> list[dict[str, Any]]:
    """Rows of templates/admin/alerts/delivery/tries.html."""
    return [
        {
            "at": words.moment(each.at, now),
            "outcome": _outcome(each, by_mail=by_mail),
            "problem": each.problem,
            "answer": each.answer,
            "took": f"{words.grouped(each.milliseconds)} ms",
        }
        for each in tries
    ]


def _outcome(each: Attempt, *, by_mail: bool) -> SafeString:
    if not each.problem:
        return words.coloured("taken" if by_mail else str(each.status), "good")
    return words.coloured("no answer" if each.status is None else str(each.status), "bad")
