"""Whether anyone waits to be told of something."""

from datetime import datetime

from alerts.models import Delivery, Event


def is_due(*, now: datetime) -> bool:
    """Whether an event has no deliveries yet, or a delivery is due."""
    if Event.objects.filter(spread_at__isnull=True).exists():
        return True
    return Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lte=now).exists()
