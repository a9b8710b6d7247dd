"""Whether any event or delivery is waiting."""

from datetime import datetime

from alerts import store


def is_due(*, now: datetime) -> bool:
    """Whether an event is not routed yet, or a delivery is due."""
    return store.has_waiting(now)
