"""What is told is forgotten after a while."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

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
            _delete(Try.objects.filter(delivery__event__in=found))
            _delete(Delivery.objects.filter(event__in=found))
            _delete(Event.objects.filter(pk__in=found))
        count += len(found)
        if len(found) < _AT_ONCE:
            break
    Mailbox.objects.filter(mailed_at__lt=now - KEPT).delete()
    return count


def _delete(rows: QuerySet[Any]) -> None:
    # Without looking for what hangs on each row: that was deleted before.
    rows._raw_delete(rows.db)
