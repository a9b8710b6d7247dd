"""States of webhooks, deliveries and attempts as badges with hints."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString

from access.models import Customer
from alerts.kinds import KINDS
from alerts.models import Attempt, Delivery, Rule, Webhook
from staff import outgoing_mail
from staff.formatting import ago, badge, duration, grouped, link, utc


def webhook_state(webhook: Webhook, now: datetime) -> SafeString:
    if not webhook.is_enabled:
        return badge("off", "quiet", webhook.disabled_reason or "switched off")
    if webhook.failing_since is not None:
        since = duration(now - webhook.failing_since)
        since_when = utc(webhook.failing_since)
        hint = f"{webhook.last_problem}; failing since {since_when}, disabled after three days"
        return badge(f"failing for {since}", "bad", hint)
    if webhook.delivered_at is None:
        return badge("not used yet", "quiet", "No delivery so far")
    return badge("working", "good", f"Last success: {utc(webhook.delivered_at)}")


def rule_state(rule: Rule) -> SafeString:
    if rule.is_enabled:
        return badge("on", "good", f"About what happens since {utc(rule.enabled_at)}")
    return badge("off", "quiet", rule.disabled_reason or "switched off")


def delivery_state(delivery: Delivery, now: datetime) -> SafeString:
    if delivery.state == Delivery.State.DELIVERED:
        at = delivery.delivered_at
        return badge("delivered", "good", "" if at is None else utc(at))
    if delivery.state == Delivery.State.FAILED:
        return badge("given up", "bad", "No more attempts, unless it is delivered again by hand")
    if not delivery.tries:
        return badge("waiting", "quiet", "It is delivered within seconds")
    hint = f"Next attempt at {utc(delivery.due_at, seconds=True)}"
    if delivery.due_at <= now:
        return badge("retrying now", "warning", hint)
    again = duration(delivery.due_at - now)
    return badge(f"retry in {again}", "warning", hint)


def kind_badge(name: str) -> SafeString:
    """The kind's name, with what it means as a hint."""
    kind = KINDS.get(name)
    return badge(name, "quiet", "" if kind is None else kind.meaning)


def customer_link(customer: Customer | None) -> SafeString | str:
    """Whose events or webhooks it is about."""
    if customer is None:
        return "the staff"
    return link(customer, "access_customer_change", customer.pk)


def delivery_rows(deliveries: Iterable[Delivery], now: datetime) -> list[dict[str, Any]]:
    """Rows of templates/admin/alerts/deliveries.html."""
    return [
        {
            "pk": delivery.pk,
            "kind": kind_badge(delivery.event.kind),
            "about": delivery.event.about,
            "to": delivery.webhook or delivery.mail_to,
            "at": ago(delivery.event.at, now),
            "state": delivery_state(delivery, now),
            "attempts": delivery.tries,
        }
        for delivery in deliveries
    ]


def attempt_rows(
    attempts: Iterable[Attempt], now: datetime, *, by_mail: bool
) -> list[dict[str, Any]]:
    """Rows of templates/admin/alerts/delivery/attempts.html."""
    return [
        {
            "at": ago(each.at, now),
            "outcome": _outcome(each, by_mail=by_mail),
            "problem": each.problem,
            "answer": each.answer,
            "took": f"{grouped(each.milliseconds)} ms",
        }
        for each in attempts
    ]


def _outcome(each: Attempt, *, by_mail: bool) -> SafeString:
    if by_mail and each.answer == outgoing_mail.WRITTEN:
        return badge("written to a file", "quiet")
    text = "no response" if each.status is None else f"HTTP {each.status}"
    if not each.problem:
        return badge("accepted" if by_mail else text, "good")
    return badge(text, "bad")
