"""Assigns events to webhooks and mail recipients."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction

from alerts import store
from alerts.models import Delivery, Event, Webhook

MOST_EVENTS = 500


@transaction.atomic
def route_events(*, now: datetime, staff_mail: Sequence[str]) -> int:
    """Writes the deliveries of new events: to the customer's webhooks that chose the kind and to
    the customer's mail address, or its members'; events of the staff to the staff's. Returns the
    number of events; 0 also while another worker routes.
    """
    if not store.lock_routing():
        return 0
    events = store.unrouted_events(MOST_EVENTS)
    if not events:
        return 0
    webhooks = _webhooks_of(events)
    addresses = _addresses_of(events, staff_mail)
    deliveries = []
    for event in events:
        for webhook in webhooks[event.customer_id]:
            if not webhook.kinds or event.kind in webhook.kinds:
                deliveries.append(Delivery(event=event, webhook=webhook, due_at=now))
        for address in addresses.get(event.customer_id, ()):
            deliveries.append(Delivery(event=event, mail_to=address, due_at=now))
    store.write_deliveries(deliveries, events, now)
    return len(events)


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
