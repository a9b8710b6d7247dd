"""Events → deliveries: who is told of what."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Q

from access.models import Customer
from alerts.models import Delivery, Event, Mailbox, Webhook

MOST_EVENTS = 500
# One worker spreads at a time: deliveries are numbered in the order of their events.
_LOCK = 7_340_211


@transaction.atomic
def spread(*, now: datetime, staff_mail: Sequence[str]) -> int:
    """Writes the deliveries of events that have none yet, each once: to the customer's webhooks
    that chose the kind and to the customer's mail address, the staff's events to the staff's. The
    number of events; 0 also while another worker is at it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        row = cursor.fetchone()
    if row is None or not row[0]:
        return 0
    events = list(Event.objects.filter(spread_at__isnull=True).order_by("pk")[:MOST_EVENTS])
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
    boxes = {each.mail_to for each in deliveries if each.mail_to}
    Mailbox.objects.bulk_create(map(_box, sorted(boxes)), ignore_conflicts=True)
    Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
    Event.objects.filter(pk__in=[event.pk for event in events]).update(spread_at=now)
    return len(events)


def _box(address: str) -> Mailbox:
    return Mailbox(address=address)


def _customers(events: Iterable[Event]) -> set[int]:
    return {event.customer_id for event in events if event.customer_id is not None}


def _webhooks_of(events: list[Event]) -> dict[int | None, list[Webhook]]:
    concerned = Q(customer__in=_customers(events)) | Q(customer__isnull=True)
    found: dict[int | None, list[Webhook]] = defaultdict(list)
    for webhook in Webhook.objects.filter(concerned, is_enabled=True).order_by("pk"):
        found[webhook.customer_id].append(webhook)
    return found


def _addresses_of(
    events: list[Event], staff_mail: Sequence[str]
) -> dict[int | None, Sequence[str]]:
    wanted = Customer.objects.filter(pk__in=_customers(events), alert_mails=True).exclude(email="")
    found: dict[int | None, Sequence[str]] = {
        pk: [email] for pk, email in wanted.values_list("pk", "email")
    }
    found[None] = sorted(set(staff_mail))
    return found
