"""Whether anyone waits to be told of something."""

from datetime import datetime

from alerts.models import Delivery
from columns.questions import MOMENT, exists, microseconds


def is_due(*, now: datetime) -> bool:
    """Whether an event has no deliveries yet, or a delivery is due."""
    return exists(
        "SELECT FROM alerts_event WHERE spread_at IS NULL",
        f"SELECT FROM alerts_delivery WHERE state = '{Delivery.State.WAITING}'"
        f" AND due_at <= {MOMENT.format('$1')}",
        parameters=(microseconds(now),),
    )
