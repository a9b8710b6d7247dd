"""Events of the staff that the database cannot store yet: sent at once, and stored later with what
was sent.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from alerts import store
from alerts.models import Delivery, Event, Webhook
from alerts.services.delivering import post_event
from alerts.services.mailing import mail_events

# Names of recipients: this and an address, or the number of a webhook.
_MAIL, _WEBHOOK = "mail:", "webhook:"


def recipients(kind: str) -> list[str]:
    """The names of who gets events of the kind; without webhooks while the database cannot be
    read.
    """
    found = [f"{_MAIL}{address}" for address in sorted(set(settings.STAFF_MAIL))]
    try:
        webhooks = _webhooks(kind)
    except (DatabaseError, InterfaceError):
        connection.close()
        return found
    return found + [f"{_WEBHOOK}{each.pk}" for each in webhooks]


def is_mail(recipient: str) -> bool:
    return recipient.startswith(_MAIL)


def send(recipient: str, events: Sequence[Event], *, now: datetime) -> int:
    """One mail with all events, or a request for each until one fails; how many were sent."""
    if is_mail(recipient):
        answer = mail_events(recipient.removeprefix(_MAIL), events)
        return len(events) if answer.is_good else 0
    webhook = store.webhook(int(recipient.removeprefix(_WEBHOOK)))
    for number, event in enumerate(events):
        if not post_event(event, webhook, now=now).is_good:
            return number
    return len(events)


def store_sent(once: str, values: dict[str, Any], sent: Collection[str], *, now: datetime) -> None:
    """Stores the event with its deliveries, unless there is one with that `once`: to the recipients
    that were sent it, and to the others, which get it now.
    """
    event = store.create_event_once(once, values)
    if event is None:
        return
    deliveries = [_delivery(event, each, each in sent, now) for each in recipients(event.kind)]
    store.write_deliveries(deliveries, [event], now)


def _delivery(event: Event, recipient: str, was_sent: bool, now: datetime) -> Delivery:
    found = Delivery(event=event, due_at=now)
    if is_mail(recipient):
        found.mail_to = recipient.removeprefix(_MAIL)
    else:
        found.webhook_id = int(recipient.removeprefix(_WEBHOOK))
    if was_sent:
        found.state, found.delivered_at = Delivery.State.DELIVERED, event.at
    return found


def _webhooks(kind: str) -> list[Webhook]:
    return [each for each in store.enabled_webhooks(()) if not each.kinds or kind in each.kinds]
