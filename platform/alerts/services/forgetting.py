"""What is told is forgotten after a while."""

from datetime import datetime, timedelta

from django.db import transaction

from alerts.deleting import raw_delete
from alerts.models import Delivery, Event, Mailbox, Try

# A month and some days: what is told once a month must not be forgotten, and told again, within it.
KEPT = timedelta(days=35)
_AT_ONCE = 5_000


def forget(*, now: datetime) -> int:
    """Deletes events older than KEPT, with their deliveries and tries; how many events."""
    old = Event.objects.filter(at__lt=now - KEPT)
    count = 0
    while True:
        with transaction.atomic():
            found = list(old.order_by("at").values_list("pk", flat=True)[:_AT_ONCE])
            raw_delete(Try.objects.filter(delivery__event__in=found))
            raw_delete(Delivery.objects.filter(event__in=found))
            raw_delete(Event.objects.filter(pk__in=found))
        count += len(found)
        if len(found) < _AT_ONCE:
            break
    Mailbox.objects.filter(mailed_at__lt=now - KEPT).delete()
    return count
