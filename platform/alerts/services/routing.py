"""Assigns events to webhooks and mail recipients."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from alerts import rule_store, store
from alerts.models import Delivery, Event, Rule, Webhook
from alerts.services.events import publish
from alerts.services.rule_events import rule_data
from alerts.services.rules import disable, recipients

MOST_EVENTS = 500


@transaction.atomic
def route_events(*, now: datetime, staff_mail: Sequence[str]) -> int:
    """Writes the deliveries of new events: to the customer's webhooks that chose the kind and to
    the customer's mail address, or its members'; events of the staff to the staff's, and events of
    a rule to its recipients. Returns the number of events; 0 also while another worker routes.
    """
    if not store.lock_routing():
        return 0
    events = store.unrouted_events(MOST_EVENTS)
    if not events:
        return 0
    webhooks = _webhooks_of(events)
    addresses = _addresses_of(events, staff_mail)
    deliveries = []
    rules = rule_store.rules_by_id({each.rule_id for each in events if each.rule_id is not None})
    routes = {pk: recipients(rule) for pk, rule in rules.items()}
    for event in events:
        if event.rule_id is not None:
            for to in routes.get(event.rule_id, ()):  # none: it was deleted just now
                deliveries.append(
                    _delivery(event, now, rule=to.rule, webhook=to.webhook, mail_to=to.mail_to)
                )
            continue
        for webhook in webhooks[event.customer_id]:
            if not webhook.kinds or event.kind in webhook.kinds:
                deliveries.append(_delivery(event, now, webhook=webhook))
        for address in addresses.get(event.customer_id, ()):
            deliveries.append(_delivery(event, now, mail_to=address))
    store.write_deliveries(deliveries, events, now)
    _stop_overflowing(rules, now)
    return len(events)


def _stop_overflowing(rules: Mapping[int, Rule], now: datetime) -> None:
    """Disables rules that publish more than their recipients accept, with an event."""
    most = settings.EVENT_RULE_WAITING
    for pk, waiting in rule_store.waiting_by_rule(rules).items() if rules else ():
        rule = rules[pk]
        if waiting <= most or not rule.is_enabled:
            continue
        reason = f"more than {most:,} of its deliveries wait"
        disable(pk, reason=reason)
        publish(
            "rule.disabled",
            about=f"rule {rule.name}",
            text=f"The event rule “{rule.name}” is off, since {reason}. What it published is still"
            " delivered. Fix its recipients or narrow its condition, then enable it.",
            data={**rule_data(rule), "reason": reason},
            now=now,
            customer_id=rule.customer_id,
        )


def _delivery(event: Event, now: datetime, **recipient: Any) -> Delivery:
    return Delivery(event=event, subject=event.subject, due_at=now, **recipient)


def _customers(events: Iterable[Event]) -> set[int]:
    return {event.customer_id for event in events if event.customer_id is not None}


def _webhooks_of(events: list[Event]) -> dict[int | None, list[Webhook]]:
    found: dict[int | None, list[Webhook]] = defaultdict(list)
    for webhook in store.enabled_webhooks(_customers(events)):
        found[webhook.customer_id].append(webhook)
    return found


def _addresses_of(events: list[Event], staff_mail: Sequence[str]) -> dict[int | None, list[str]]:
    wanted = store.mail_addresses(_customers(events))
    found: dict[int | None, list[str]] = defaultdict(list)
    for customer, address in wanted:
        found[customer].append(address)
    found[None] = sorted(set(staff_mail))
    return found
