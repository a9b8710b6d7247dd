"""Whether anything waits to be delivered."""

from datetime import datetime

from alerts import store


def is_due(*, now: datetime) -> bool:
    """Whether an event has no deliveries yet, or a delivery is due."""
    return store.has_waiting(now)
