"""Publishing events."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from alerts import store
from alerts.kinds import KINDS, Audience
from alerts.models import Event


def publish(
    kind: str,
    *,
    about: str,
    text: str,
    data: Mapping[str, Any],
    now: datetime,
    customer_id: int | None = None,
    once: str | None = None,
    subject: str = "",
) -> Event | None:
    """Writes an event of one of KINDS; None if an event with that `once` exists already. Call it in
    the transaction of the change that it reports. The worker routes it to webhooks and mail
    recipients within seconds; each gets the events of one `subject` in order.
    """
    if customer_id is None and KINDS[kind].audience is Audience.CUSTOMER:
        assert kind in ("test", "webhook.disabled"), f"{kind} concerns a customer"
    values = {
        "kind": kind,
        "customer_id": customer_id,
        "about": about[:200],
        "text": text,
        "data": dict(data),
        "subject": subject,
        "at": now,
    }
    if once is None:
        return store.create_event(once=None, **values)
    return store.create_event_once(once, values)
